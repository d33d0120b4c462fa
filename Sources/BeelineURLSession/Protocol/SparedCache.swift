// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// The cache of a session, spared the questions whose answer nobody wants.
///
/// Foundation on Linux asks a session's cache before it makes an object of a protocol class: on a background thread, and on
/// the disk. A request that we carry wants what is cached only where its policy says so, for Foundation keeps no response
/// of a class; and the question takes as long as all that we do for a request.
///
/// `@unchecked Sendable`, as its class is: it has constants alone.
final class SparedCache: URLCache, @unchecked Sendable {
    private let cache: URLCache
    private let door: Door

    init(_ cache: URLCache, _ door: Door) {
        self.cache = cache
        self.door = door
        super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
    }

    override func getCachedResponse(
        for dataTask: URLSessionDataTask,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        if let request = dataTask.currentRequest, !request.takesCachedResponse, door.takes(request, isTold: false) {
            completionHandler(nil)
        } else {
            cache.getCachedResponse(for: dataTask, completionHandler: completionHandler)
        }
    }

    // MARK: As the cache does it

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
