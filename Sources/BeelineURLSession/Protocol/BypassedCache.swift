// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// Wraps a session's cache and skips lookups whose result is not used.
///
/// Foundation on Linux asks the session's cache before it creates a protocol object, on a background thread and from disk. A
/// request of this library uses a cached response only if its policy says so, because Foundation stores no responses of a
/// protocol class. The lookup takes as long as all other work of this library for a request.
///
/// `@unchecked Sendable`, as its superclass: it has only constants.
final class BypassedCache: URLCache, @unchecked Sendable {
    private let cache: URLCache
    private let binding: ClientBinding

    init(_ cache: URLCache, _ binding: ClientBinding) {
        self.cache = cache
        self.binding = binding
        super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
    }

    override func getCachedResponse(
        for dataTask: URLSessionDataTask,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        if let request = dataTask.currentRequest, !request.takesCachedResponse,
            binding.carries(request, logsReason: false)
        {
            completionHandler(nil)
        } else {
            cache.getCachedResponse(for: dataTask, completionHandler: completionHandler)
        }
    }

    // MARK: Forwarding to the cache

    override func cachedResponse(for request: URLRequest) -> CachedURLResponse? { cache.cachedResponse(for: request) }

    override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        cache.storeCachedResponse(cachedResponse, for: request)
    }

    override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        cache.storeCachedResponse(cachedResponse, for: dataTask)
    }

    override func removeCachedResponse(for request: URLRequest) { cache.removeCachedResponse(for: request) }

    override func removeCachedResponse(for dataTask: URLSessionDataTask) { cache.removeCachedResponse(for: dataTask) }

    override func removeCachedResponses(since date: Date) { cache.removeCachedResponses(since: date) }

    override func removeAllCachedResponses() { cache.removeAllCachedResponses() }

    override var memoryCapacity: Int {
        get { cache.memoryCapacity }
        set { cache.memoryCapacity = newValue }
    }

    override var diskCapacity: Int {
        get { cache.diskCapacity }
        set { cache.diskCapacity = newValue }
    }

    override var currentMemoryUsage: Int { cache.currentMemoryUsage }

    override var currentDiskUsage: Int { cache.currentDiskUsage }
}
#endif
