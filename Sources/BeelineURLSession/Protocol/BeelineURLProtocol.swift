// SPDX-License-Identifier: Apache-2.0

public import Beeline

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Carries requests of URLSession with a `BeelineClient`. Code that uses only URLSession gets its name resolution, connections,
/// cookie jar and telemetry.
///
/// ```swift
/// let session = URLSession(configuration: .beeline(client))
/// let (data, response) = try await session.data(for: request)
/// ```
///
/// For one client in the whole process, call ``use(_:settings:)`` and set `configuration.protocolClasses =
/// [BeelineURLProtocol.self] + …`.
///
/// It carries data tasks and upload tasks over `http` and `https`. Foundation carries requests that the settings, a proxy or
/// the client's HTTPDNS switch exclude, WebSockets, and background sessions (they run in another process without this class).
/// Download tasks are left to Foundation on Apple platforms. On Linux they fail, because Foundation does not ask the class
/// before a download starts. <doc:URLSessionThroughBeeline> has the whole list.
public class BeelineURLProtocol: URLProtocol {
    private var load: Load?

    /// Sets the client that carries requests of this class in a configuration's `protocolClasses`; `nil` removes it.
    ///
    /// On Apple platforms a protocol class does not know its session. Requests of this class use the cookie storage, timeouts,
    /// header fields and proxy of `URLSessionConfiguration.default`, also in an ephemeral session, which would send and store
    /// the cookies of `HTTPCookieStorage.shared`. For any other configuration, use `URLSessionConfiguration.beeline(client, base:)`.
    public static func use(_ client: BeelineClient?, settings: Settings = Settings()) {
        ClientBindings[BeelineURLProtocol.self] = client.map {
            ClientBinding($0, settings: settings, configuration: nil)
        }
    }

    /// Whether the client carries a request.
    override public class func canInit(with request: URLRequest) -> Bool {
        ClientBindings[self]?.carries(request) ?? false
    }

    #if canImport(Darwin)
    /// Whether the client carries a task. It carries data and upload tasks only.
    override public class func canInit(with task: URLSessionTask) -> Bool {
        guard let request = task.currentRequest, let binding = ClientBindings[self] else { return false }
        guard task is URLSessionDataTask else {
            binding.settings.log?(
                "\(request.url?.host ?? "") is left to URLSession: only data and upload tasks can be carried; to have the "
                    + "others too, send the session through BeelineProxy"
            )
            return false
        }
        return binding.carries(request)
    }
    #endif

    /// Returns the request unchanged.
    override public class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether two requests are equal for a cache.
    override public class func requestIsCacheEquivalent(_ one: URLRequest, to other: URLRequest) -> Bool {
        one == other
    }

    #if canImport(FoundationNetworking)
    /// Creates the object for a task.
    ///
    /// Foundation on Linux calls this on the thread that resumes the task, and `startLoading` later on another thread. The load
    /// starts here to avoid that wait. It does not start if the call comes from another thread or the task is not running.
    public required convenience init(
        task: URLSessionTask,
        cachedResponse: CachedURLResponse?,
        client: (any URLProtocolClient)?
    ) {
        self.init(
            // Every task of a session that uses this class has a request.
            request: task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/")),
            cachedResponse: cachedResponse,
            client: client
        )
        self.task = task
        guard task is URLSessionDataTask, task.state == .running else { return }
        let insides = TaskInsides(task)
        // `startLoading` tries again and reports the error, because Foundation cannot receive errors yet.
        if insides.isOnWorkQueue { try? begin(insides) }
    }
    #endif

    /// Starts the load, or resumes it after a suspension (on Linux).
    override public func startLoading() {
        if let load { return load.resume() }
        do {
            try begin()
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    private func begin(_ insides: TaskInsides? = nil) throws(URLError) {
        guard let binding = ClientBindings[type(of: self)] else {
            throw URLError(.unknown, "BeelineURLProtocol.use(_:) names no client any more", for: request.url)
        }
        let plan = try LoadPlan(request, task: task, insides: insides, cached: cachedResponse, binding: binding)
        let load = Load(plan, delivery: delivery(plan))
        self.load = load
        load.start()
    }

    /// Cancels the load. On Linux, suspends it if the task is suspended.
    override public func stopLoading() {
        #if canImport(FoundationNetworking)
        switch task?.state {
        // The task was suspended, and may be running again already: `startLoading` follows then.
        case .suspended, .running: load?.suspend()
        default: load?.cancel()
        }
        #else
        // Foundation holds back the calls for a suspended task itself. It stops a load also while the task is running: after a
        // redirect, and when its own timeout ends the task.
        load?.cancel()
        #endif
    }

    private func delivery(_ plan: LoadPlan) -> Delivery {
        #if canImport(FoundationNetworking)
        let queue = plan.workQueue
        return Delivery(self, delegateQueue: plan.gathersBody ? nil : plan.delegateQueue) { queue.async(execute: $0) }
        #else
        // Foundation requires calls on the thread that called `startLoading`.
        let home = LoadingRunLoop(RunLoop.current)
        return Delivery(self, delegateQueue: nil) { home.perform($0) }
        #endif
    }
}

#if canImport(Darwin)
/// `@unchecked Sendable`: only `perform` and `CFRunLoopWakeUp` are used, which are thread-safe.
private struct LoadingRunLoop: @unchecked Sendable {
    private let loop: RunLoop

    init(_ loop: RunLoop) { self.loop = loop }

    func perform(_ block: @escaping @Sendable () -> Void) {
        loop.perform(inModes: [.common], block: block)
        // Not documented for `perform`; the function behind it, CFRunLoopPerformBlock, does not wake the loop.
        CFRunLoopWakeUp(loop.getCFRunLoop())
    }
}
#endif
