// SPDX-License-Identifier: Apache-2.0

#if Redis
import HTTPDNS
import NIOConcurrencyHelpers
import NIOPosix
import Names

/// Finds the addresses of a host. A name is looked up on a separate thread, because `getaddrinfo` may block for any time.
final class RedisHostLookup: Sendable {
    typealias Addresses = Result<[IPAddress], UpstreamError>
    typealias LookUp = @Sendable (_ name: String) -> Addresses

    private struct State {
        var isRunning = false
        var isEnded = false
        var found: Addresses?
        /// Whether a caller stopped waiting before the result arrived. The next caller then uses it.
        var isMissed = false
    }

    /// The maximum time that a caller waits for a lookup, in seconds.
    static let maxPatience = 60.0

    /// The address; nil if the server is given by name.
    let literal: IPAddress?
    private let name: String
    private let look: LookUp
    private let thread = NIOThreadPool(numberOfThreads: 1)
    /// Guards the result.
    private let state = NIOLockedValueBox(State())
    /// True when a lookup has ended, or ``end()`` was called.
    private let isReady = ConditionLock(value: false)

    init(_ name: String, _ look: @escaping LookUp) {
        self.name = name
        self.look = look
        literal = IPAddress(name)
        // Started here, because a pool must not be started while it is shut down.
        if literal == nil { thread.start() }
    }

    deinit { end() }

    /// Looks up the name. Blocks. Fails at once after ``end()``.
    ///
    /// - Parameter patience: How long to wait, in seconds.
    func addresses(within patience: Double = RedisHostLookup.maxPatience) throws(RedisFault) -> [IPAddress] {
        if let literal { return [literal] }
        let mustStart = state.withLockedValue { state in
            guard !state.isRunning, !state.isEnded else { return false }
            let isMissed = state.isMissed
            state.isMissed = false
            if isMissed, state.found != nil { return false }
            (state.isRunning, state.found) = (true, nil)
            // Callers that come during the lookup wait for it and get the same result.
            isReady.lock()
            isReady.unlock(withValue: false)
            return true
        }
        if mustStart {
            thread.submit { [name, look, weak self] state in
                if case .active = state { self?.complete(look(name)) }
            }
        }
        if isReady.lock(whenValue: true, timeoutSeconds: patience) {
            isReady.unlock()
        } else {
            state.withLockedValue { $0.isMissed = true }
        }
        let found = state.withLockedValue { $0.isEnded ? nil : $0.found }
        switch found {
        case .success(let addresses) where addresses.isEmpty:
            throw RedisFault(reason: "the name \(name) has no address")
        case .success(let addresses): return addresses
        case .failure(let error): throw RedisFault(reason: error.message)
        case nil: throw RedisFault(reason: "the lookup of the name \(name) has not ended")
        }
    }

    private func complete(_ addresses: Addresses) {
        state.withLockedValue { state in
            state.isRunning = false
            state.found = addresses
        }
        signal()
    }

    private func signal() {
        isReady.lock()
        isReady.unlock(withValue: true)
    }

    /// Prevents further lookups. Does not wait for a running one, but ends the waits for it.
    func end() {
        state.withLockedValue { $0.isEnded = true }
        signal()
        thread.shutdownGracefully { _ in }
    }
}
#endif
