// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
package import Names

/// Runs `body` and checks that it leaves no descriptor open.
///
/// ```swift
/// try await expectNoLeak(to: origin.endpoints) {      // counts client sockets to these endpoints
///     try await client.get(…)
///     await client.shutDown()
/// }
/// ```
///
/// - Parameters:
///   - endpoints: The servers whose client sockets are counted. Nil counts every descriptor of the process, which is reliable
///     only in a test that runs alone (`.serialized`, or an exit test).
///   - limit: The time limit for closing, in real time. Usually one turn of the event loops is enough. Default 5 s.
///   - body: The code to check.
/// - Throws: The error of `body`, or ``TestingError`` with code `leaked` that lists the open descriptors.
package func expectNoLeak<Result>(
    to endpoints: [Endpoint]? = nil,
    within limit: Duration = .seconds(5),
    _ body: () async throws -> Result
) async throws -> Result {
    let count = { endpoints.map(OpenDescriptors.sockets(connectedTo:)) ?? OpenDescriptors.count() }
    // Let NIO open its own descriptors before counting.
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

/// Waits one millisecond on every event loop of the shared group, so that pending work finishes.
private func turnOfEventLoops() async {
    for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
        try? await loop.scheduleTask(in: .milliseconds(1)) {}.futureResult.get()
    }
}
