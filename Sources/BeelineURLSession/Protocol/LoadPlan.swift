// SPDX-License-Identifier: Apache-2.0

import Beeline
import Dispatch
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The values that the client needs for a URLSession task. Create it in `startLoading`, where the task's state may be read.
struct LoadPlan: Sendable {
    let client: BeelineClient
    let original: URLRequest
    let url: HTTPURL
    let request: HTTPRequest
    let body: RequestBody
    let limits: TimeLimits
    let cookies: LoadCookies
    /// Whether Foundation accepts the response's body only as a whole.
    let gathersBody: Bool
    let maxGatheredBodyBytes: Int
    /// A cached response that replaces a request.
    let cached: CachedURLResponse?
    #if canImport(FoundationNetworking)
    let workQueue: DispatchQueue
    let delegateQueue: OperationQueue?
    /// The delegate for redirects and progress, if it is known at once.
    let delegate: DelegateOfTask?
    private let taskReference: TaskReference
    #endif

    /// - Parameter insides: The state of the task, if it was already read.
    /// - Throws: The error that ends the task at once.
    init(
        _ original: URLRequest,
        task: URLSessionTask?,
        insides: TaskInsides? = nil,
        cached: CachedURLResponse?,
        binding: ClientBinding
    ) throws(URLError) {
        self.original = original
        client = binding.client
        maxGatheredBodyBytes = binding.settings.maxGatheredBodyBytes
        do {
            guard let url = original.url else { throw URLError(.badURL) }
            self.url = try HTTPURL(url)
        } catch {
            throw URLError(.badURL, "\(error)", for: original.url)
        }
        #if canImport(FoundationNetworking)
        guard !(task is URLSessionDownloadTask) else {
            let remedy =
                "Foundation on Linux lets no protocol class carry a download: make a data task, set bypassesBeeline, or send "
                + "the session through BeelineProxy"
            binding.settings.log?("\(original.url?.host ?? "") is not carried: \(remedy)")
            throw URLError(.cannotCreateFile, remedy, for: original.url)
        }
        let insides = insides ?? task.map { TaskInsides($0) }
        let configuration = insides?.session?.configuration ?? binding.configuration ?? .default
        workQueue = insides?.workQueue ?? DispatchQueue(label: "Beeline.Load")
        delegateQueue = insides?.session?.delegateQueue
        gathersBody = insides?.isForDelegate != true
        delegate = Self.delegate(of: task, insides)
        taskReference = TaskReference(task: task, session: insides?.session)
        #else
        let configuration = binding.configuration ?? .default
        gathersBody = false
        #endif
        self.cached = try Self.cached(cached, original)
        let decodesContent = binding.client.configuration.decodesContent
        let fields = RequestFields(original, configuration, decodesContent: decodesContent)
        var body = try RequestBody.find(in: task, insides, original, length: fields.contentLength)
        if original.httpMethod == "GET", !body.isNone {
            throw URLError(
                .dataLengthExceedsMaximum,
                "URLSession sends no body with GET: use another method",
                for: original.url
            )
        }
        #if canImport(FoundationNetworking)
        if !body.isNone, let progress = delegate.map(UploadProgress.init) { body = body.onProgress(progress.report) }
        #endif
        self.body = body
        limits = Self.limits(original, configuration)
        cookies = LoadCookies(original, field: fields.cookie, configuration: configuration, binding: binding)
        request = try fields.request(original, hasBody: !body.isNone, cookie: cookies.explicit)
    }

    #if canImport(FoundationNetworking)
    /// The delegate of a task. A task with a completion handler uses only a delegate of its own.
    private static func delegate(of task: URLSessionTask?, _ insides: TaskInsides?) -> DelegateOfTask? {
        guard let task, let session = insides?.session, let delegate = task.delegate,
            insides?.isForDelegate == true || delegate !== session.delegate
        else { return nil }
        return DelegateOfTask(delegate: delegate, session: session, task: task)
    }

    /// The delegate for redirects. It searches for a delegate of this task alone, which takes time, only when needed.
    func redirectDelegate() async -> DelegateOfTask? {
        if let delegate { return delegate }
        return await firstAnswer { answer in workQueue.async { [taskReference] in answer(taskReference.ownDelegate) } }
            ?? nil
    }

    /// `@unchecked Sendable`: the task is read only on its work queue.
    private struct TaskReference: @unchecked Sendable {
        weak var task: URLSessionTask?
        weak var session: URLSession?

        var ownDelegate: DelegateOfTask? {
            guard let task, let session else { return nil }
            return TaskInsides.ownDelegate(of: task, in: session)
                .map { DelegateOfTask(delegate: $0, session: session, task: task) }
        }
    }
    #endif

    private static func cached(
        _ cached: CachedURLResponse?,
        _ request: URLRequest
    ) throws(URLError) -> CachedURLResponse? {
        guard request.takesCachedResponse else { return nil }
        if cached == nil, request.cachePolicy == .returnCacheDataDontLoad {
            throw URLError(
                .resourceUnavailable,
                "there is no cached response, and the request allows no other",
                for: request.url
            )
        }
        return cached
    }

    /// Foundation's two timeouts: for inactivity and for the whole task. Foundation on Linux enforces neither for a protocol
    /// class.
    private static func limits(_ request: URLRequest, _ configuration: URLSessionConfiguration) -> TimeLimits {
        // 60 s is the default of a request; use the session's timeout then.
        let idle = request.timeoutInterval == 60 ? configuration.timeoutIntervalForRequest : request.timeoutInterval
        var limits = TimeLimits()
        limits.idle = duration(idle)
        limits.connect = limits.idle
        limits.total = duration(configuration.timeoutIntervalForResource)
        return limits
    }

    private static func duration(_ interval: TimeInterval) -> Duration? {
        interval > 0 && interval < 1e9 ? .seconds(interval) : nil
    }
}

extension URLRequest {
    /// Whether the policy accepts a cached response of any age. Other policies are not supported.
    var takesCachedResponse: Bool { cachePolicy == .returnCacheDataElseLoad || cachePolicy == .returnCacheDataDontLoad }
}
