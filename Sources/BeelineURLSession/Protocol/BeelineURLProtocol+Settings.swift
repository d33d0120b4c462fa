// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension BeelineURLProtocol {
    /// The settings of sessions that use a client.
    public struct Settings: Sendable {
        /// Whether the client's jar or the session's storage wins if they differ. The other side is kept in sync. Default: the
        /// jar; on Apple platforms the storage.
        public var truth = CookieStorageMirror.Configuration().truth
        /// Whether to keep the other side in sync. Default true.
        public var mirrorsCookies = true
        /// Whether a storage that is not the truth starts as a copy of the jar
        /// (``CookieStorageMirror/Configuration/beginsFromJar``). Default `nil`: true for `HTTPCookieStorage.shared` if the jar
        /// belongs to a `BeelineStore` and was read from a file. Both are then kept on disk, and cookies that were deleted from
        /// the jar since the last sync would otherwise come back from the storage. With `nil`, cookies that the program has set
        /// in the storage since then are still copied to the jar: session cookies, because Foundation never saves them to a
        /// file, and on Linux cookies with an expiry, because the cookies of the last sync are recorded in the program's
        /// defaults (`UserDefaults`). Elsewhere, set persistent cookies in the jar before the first request.
        public var beginsFromJar: Bool?
        /// The hosts whose requests the client carries. Default `nil`: all hosts.
        public var hosts: DomainSet?
        /// Whether to carry a request, called for requests to ``hosts``. Default: all requests. Foundation holds a lock of its
        /// own during the call, and on Linux calls it twice for each request. The closure must not create sessions or tasks, or
        /// register classes with Foundation.
        public var accepts: @Sendable (URLRequest) -> Bool = { _ in true }
        /// The maximum size of a body in bytes, if Foundation accepts it only as a whole (tasks with a completion handler, on
        /// Linux). A larger body fails with `dataLengthExceedsMaximum`. Default 1 GiB.
        public var maxGatheredBodyBytes = 1 << 30
        /// Receives a line for each http or https request that is left to Foundation, with the reason. Default `nil`.
        public var log: (@Sendable (String) -> Void)?

        /// Creates settings with default values.
        public init() {}
    }
}
