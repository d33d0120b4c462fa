// SPDX-License-Identifier: Apache-2.0

/// Blocks tasks until a test opens it. Doubles use it to be slow without a clock.
///
/// ```swift
/// let gate = Gate()
/// let origin = try await LoopbackOrigin.start { _ in
///     try await gate.wait()               // delays the answer
///     return .text("late")
/// }
/// try await gate.arrivals(atLeast: 1)     // the request waits at the gate
/// gate.open()
/// ```
///
/// A gate opens once, for all current and future waiters. Cancellation ends a wait early; `stop()` cancels all tasks of a
/// server.
public final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Watched(State())

    /// Creates a closed gate.
    public init() {}

    /// Whether the gate is open.
    public var isOpen: Bool { state.value.isOpen }

    /// Opens the gate permanently.
    public func open() { state.update { $0.isOpen = true } }

    /// Waits until the gate is open.
    ///
    /// - Throws: `CancellationError`.
    public func wait() async throws {
        state.update { $0.arrivals += 1 }
        _ = try await state.wait { $0.isOpen }
    }

    /// Waits until at least `count` calls of `wait()` have started, including completed ones.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    public func arrivals(atLeast count: Int, within limit: Duration = .seconds(10)) async throws {
        _ = try await state.wait(for: "\(count) arrivals at a gate", atMost: limit) { $0.arrivals >= count }
    }
}
