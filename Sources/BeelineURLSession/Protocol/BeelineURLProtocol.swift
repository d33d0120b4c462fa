// SPDX-License-Identifier: Apache-2.0

public import Beeline

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Carries requests of URLSession by a `BeelineClient`: its names, connections, jar and trace under code that knows
/// URLSession alone.
///
/// ```swift
/// let session = URLSession(configuration: .beeline(client))
/// let (data, response) = try await session.data(for: request)
/// ```
///
/// Or, with one client for the process, `configuration.protocolClasses = [BeelineURLProtocol.self] + …` after
/// ``use(_:settings:)``.
///
/// Data tasks and upload tasks are carried, over `http` and `https`. Left to Foundation are requests that the settings, a
/// proxy or the client's switch exclude, WebSockets, and sessions in the background (Foundation runs those in another
/// process, which knows no class of ours). Downloads are left to it on Apple's platforms; on Linux, where no class is asked
/// before a download begins, they are an error. `docs/URLSESSION.md` has the whole list.
public class BeelineURLProtocol: URLProtocol {
    private var load: Load?

    /// Lets the class itself, in the `protocolClasses` of a configuration, carry requests by a client; nil: none any more.
    public static func use(_ client: BeelineClient?, settings: Settings = Settings()) {
        Doors[BeelineURLProtocol.self] = client.map { Door($0, settings, nil) }
    }

    /// Whether a request is carried by us.
    override public class func canInit(with request: URLRequest) -> Bool {
        Doors[self]?.takes(request) ?? false
    }

    #if canImport(Darwin)
    /// Whether a task is carried by us: data and upload tasks are.
    override public class func canInit(with task: URLSessionTask) -> Bool {
        guard let request = task.currentRequest, let door = Doors[self] else { return false }
        guard task is URLSessionDataTask else {
            door.settings.log?(
                "\(request.url?.host ?? "") is left to URLSession: only data and upload tasks can be carried; to have the "
                    + "others too, send the session through BeelineProxy"
            )
            return false
        }
        return door.takes(request)
    }
    #endif

    /// The request as it is.
    override public class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether two requests are the same to a cache.
    override public class func requestIsCacheEquivalent(_ one: URLRequest, to other: URLRequest) -> Bool {
        one == other
    }

    #if canImport(FoundationNetworking)
    /// As Foundation makes it for a task.
    ///
    /// On Linux it does so on the thread that resumes the task, and calls `startLoading` on another one: what begins here
    /// has no need to wait for that. Where the object is made elsewhere, or for a task that does not run yet, nothing begins.
    public required convenience init(
        task: URLSessionTask,
        cachedResponse: CachedURLResponse?,
        client: (any URLProtocolClient)?
    ) {
        self.init(
            // Every task of a session that this class is asked about has one.
            request: task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/")),
            cachedResponse: cachedResponse,
            client: client
        )
        self.task = task
        guard task is URLSessionDataTask, task.state == .running else { return }
        let insides = TaskInsides(task)
        // An error is told by `startLoading`, which tries again: Foundation cannot hear it yet.
        if insides.isOnWorkQueue { try? begin(insides) }
    }
    #endif

    /// Begins; or goes on, after a suspension.
    override public func startLoading() {
        if let load { return load.resume() }
        do {
            try begin()
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    private func begin(_ insides: TaskInsides? = nil) throws(URLError) {
        guard let door = Doors[type(of: self)] else {
            throw URLError(.unknown, "BeelineURLProtocol.use(_:) names no client any more", for: request.url)
        }
        let plan = try LoadPlan(request, task: task, insides, cachedResponse, door: door)
        let load = Load(plan, delivery: delivery(plan))
        self.load = load
        load.start()
    }

    /// Ends; or pauses, where the task is suspended.
    override public func stopLoading() {
        switch task?.state {
        // A task that was suspended, and may be running again already: `startLoading` follows then.
        case .suspended, .running: load?.suspend()
        default: load?.cancel()
        }
    }

    private func delivery(_ plan: LoadPlan) -> Delivery {
        #if canImport(FoundationNetworking)
        let queue = plan.workQueue
        return Delivery(self, delegateQueue: plan.gathersBody ? nil : plan.delegateQueue) { queue.async(execute: $0) }
        #else
        // Foundation wants to be called on the thread that called `startLoading`.
        let home = HomeRunLoop(RunLoop.current)
        return Delivery(self, delegateQueue: nil) { home.perform($0) }
        #endif
    }
}

#if canImport(Darwin)
/// `@unchecked Sendable`: of a run loop, `perform` alone may be called from anywhere, and nothing else is.
private struct HomeRunLoop: @unchecked Sendable {
    private let loop: RunLoop

    init(_ loop: RunLoop) { self.loop = loop }

    func perform(_ block: @escaping @Sendable () -> Void) { loop.perform(inModes: [.common], block: block) }
}
#endif
