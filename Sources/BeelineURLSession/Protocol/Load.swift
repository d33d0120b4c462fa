// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import NIOConcurrencyHelpers
import NIOCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Performs one task of URLSession with the client. It owns the Swift task, which ends with the load.
final class Load: Sendable {
    private let plan: LoadPlan
    private let delivery: Delivery
    private let work = NIOLockedValueBox<Task<Void, Never>?>(nil)

    init(_ plan: LoadPlan, delivery: Delivery) {
        self.plan = plan
        self.delivery = delivery
    }

    /// Starts the load, on the queue of the protocol object.
    func start() {
        plan.cookies.mirror?.sync()
        work.withLockedValue { work in
            if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *), let executor {
                work = Task(executorPreference: executor) { [self] in await run() }
            } else {
                work = Task { [self] in await run() }
            }
        }
    }

    /// The event loop of the connection, if nothing on the path blocks. It saves one of two thread switches between the
    /// connection and Foundation's queue.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private var executor: (any TaskExecutor)? {
        plan.body.isInMemory ? plan.client.executor(for: plan.url.origin) : nil
    }

    func suspend() { delivery.suspend() }

    func resume() { delivery.resume() }

    func cancel() {
        delivery.close()
        work.withLockedValue { $0 }?.cancel()
    }

    private func run() async {
        do {
            if let cached = plan.cached {
                try await deliver(cached)
            } else {
                try await exchange()
            }
        } catch let error as BeelineError {
            await delivery.end(URLError(error, for: plan.original.url))
        } catch {
            await delivery.end(error)
        }
    }

    private func deliver(_ cached: CachedURLResponse) async throws {
        var unread = 0
        await delivery.head(cached.response, nil)
        await delivery.piece(cached.data, unread: &unread)
        await delivery.end(nil)
    }

    private func exchange() async throws {
        let cookies = plan.cookies
        var options = RequestOptions()
        options.limits = plan.limits
        options.redirects = .follow(limit: 20)
        options.jar = cookies.jar
        options.sendsCookies = cookies.sends
        options.keepsCookies = cookies.keeps
        options.keepsCookiesOf = cookies.keepsOf
        let redirect = PlatformRedirect(plan)
        options.onRedirect = { await redirect.next($0, head: $1, mirror: cookies.mirror) }
        let response = try await plan.client.send(plan.request, to: plan.url, body: plan.body, options: options)
        guard
            let head = HTTPURLResponse.make(
                response.head,
                for: response.url == plan.url ? plan.original.url : URL(string: response.url.description),
                applicationProtocol: response.hop.applicationProtocol
            )
        else { throw URLError(.badServerResponse) }
        #if canImport(Darwin)
        if let next = redirect.request { await delivery.redirect(to: next, head, cookies.mirror) }
        #endif
        do {
            if plan.gathersBody {
                await delivery.deliverWhole(head, data: try await gathered(response), mirror: cookies.mirror)
            } else {
                await delivery.head(head, cookies.mirror)
                try await stream(response)
                await delivery.end(nil)
            }
        } catch let error as DirectHTTPError {
            throw BeelineError(error, of: response)
        }
    }

    private func stream(_ response: Response) async throws {
        var unread = 0
        for try await piece in response.body { await delivery.piece(Data(piece.readableBytesView), unread: &unread) }
    }

    /// Reads the whole body, for tasks with a completion handler, which receive nothing before the end.
    private func gathered(_ response: Response) async throws -> Data {
        var whole = Data()
        for try await piece in response.body {
            guard whole.count + piece.readableBytes <= plan.maxGatheredBodyBytes else {
                throw URLError(
                    .dataLengthExceedsMaximum,
                    "the body is larger than \(plan.maxGatheredBodyBytes) bytes: "
                        + "use a delegate, or allow more in the settings",
                    for: plan.original.url
                )
            }
            whole.append(contentsOf: piece.readableBytesView)
        }
        return whole
    }
}
