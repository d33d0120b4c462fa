// SPDX-License-Identifier: Apache-2.0

/// A door that is shut until a test opens it: the way in which doubles are slow without a clock.
///
/// ```swift
/// let gate = Gate()
/// let origin = try await LoopbackOrigin.start { _ in
///     try await gate.wait()               // the answer is held back…
///     return .text("late")
/// }
/// try await gate.arrivals(atLeast: 1)     // …until the test has seen that the request stands before it
/// gate.open()
/// ```
///
/// It opens once, for all who wait and all who come later. A wait ends early when its task is cancelled, which
/// `stop()` does to everything that a double still runs.
public final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Watched(State())

    /// A shut gate.
    public init() {}

    /// Whether it was opened.
    public var isOpen: Bool { state.value.isOpen }

    /// Opens it for good.
    public func open() { state.update { $0.isOpen = true } }

    /// Returns when the gate is open.
    ///
    /// - Throws: `CancellationError`.
    public func wait() async throws {
        state.update { $0.arrivals += 1 }
        _ = try await state.wait { $0.isOpen }
    }

    /// Returns when `count` waits have begun, those that were let through included.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    public func arrivals(atLeast count: Int, within limit: Duration = .seconds(10)) async throws {
        _ = try await state.wait(for: "\(count) arrivals at a gate", atMost: limit) { $0.arrivals >= count }
    }
}
