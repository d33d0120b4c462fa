// SPDX-License-Identifier: Apache-2.0

#if Redis
import HTTPDNS
import NIOPosix
import Names

/// The server's address, or its name, which is looked up on a separate thread because `getaddrinfo` may block for any time.
final class RedisPlace: Sendable {
    typealias Addresses = Result<[IPAddress], UpstreamError>
    typealias LookUp = @Sendable (_ name: String) -> Addresses

    /// The address; nil if the server is given by name.
    let literal: IPAddress?
    private let name: String
    private let look: LookUp
    private let thread = NIOThreadPool(numberOfThreads: 1)

    init(_ name: String, _ look: @escaping LookUp) {
        self.name = name
        self.look = look
        literal = IPAddress(name)
        // Started here, because a pool must not be started while it is shut down.
        if literal == nil { thread.start() }
    }

    deinit { end() }

    /// Looks up the name. Calls `done` with its addresses on the thread, unless ``end()`` is called before.
    func lookUp(_ done: @escaping @Sendable (Addresses) -> Void) {
        thread.submit { [name, look] state in
            if case .active = state { done(look(name)) }
        }
    }

    /// Prevents further lookups. Does not wait for a running one.
    func end() { thread.shutdownGracefully { _ in } }
}
#endif
