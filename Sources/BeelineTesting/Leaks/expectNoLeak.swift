// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
public import Names

/// Runs `body` and checks that no descriptor is left over from it.
///
/// ```swift
/// try await expectNoLeak(to: origin.endpoints) {      // sockets of clients to these endpoints
///     try await client.get(…)
///     try await client.shutdown()
/// }
/// ```
///
/// - Parameters:
///   - endpoints: the servers whose clients are counted: their sockets must be gone. nil counts every descriptor of the
///     process against the number before, which holds only in a test that runs alone (`.serialized`, or an exit test).
///   - limit: how long closing may take, in real time. Most is over after a turn of the event loops.
///   - body: what might leak.
/// - Throws: what `body` throws, or ``TestingError`` with code `leaked` that lists what is left.
public func expectNoLeak<Result>(
    to endpoints: [Endpoint]? = nil,
    within limit: Duration = .seconds(5),
    _ body: () async throws -> Result
) async throws -> Result {
    let count = { endpoints.map(OpenDescriptors.sockets(connectedTo:)) ?? OpenDescriptors.count() }
    // A first turn, so that what NIO keeps for itself is open before it is counted.
    await turnOfEventLoops()
    let before = count()
    let result = try await body()
    let deadline = ContinuousClock.now + limit
    while count() > before {
        guard ContinuousClock.now < deadline else {
            let what = endpoints.map { "sockets to \($0.map(\.description).joined(separator: ", "))" } ?? "descriptors"
            throw TestingError(
                .leaked,
                "\(what): \(before) before, \(count()) after; open are \(OpenDescriptors.describe().joined(separator: ", "))"
            )
        }
        await turnOfEventLoops()
    }
    return result
}

/// Returns when every event loop of the shared group has done what it had to do, and a millisecond has gone by.
private func turnOfEventLoops() async {
    for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
        try? await loop.scheduleTask(in: .milliseconds(1)) {}.futureResult.get()
    }
}
