// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension BeelineURLProtocol {
    /// What the sessions of a client let it do.
    public struct Settings: Sendable {
        /// Who has the cookies; the other side is kept the same. Default: the client's jar; on Apple's platforms the
        /// session's storage.
        public var truth = CookieStorageMirror.Configuration().truth
        /// Whether the side that is not the truth is kept the same. Default true.
        public var mirrorsCookies = true
        /// Whether a storage that is not the truth begins as a copy of the jar
        /// (``CookieStorageMirror/Configuration/beginsFromJar``). Default nil: `HTTPCookieStorage.shared` does where the jar
        /// is one of `BeelineStore` that was read from a file. Both are kept on disk then, and what was deleted in the jar
        /// since they last met would come back from the storage. Session cookies, which are in no file of Foundation's, go
        /// to the jar even so; put lasting ones into the jar, where the program has them before its first request.
        public var beginsFromJar: Bool?
        /// The hosts whose requests are carried. Nil, the default: all.
        public var hosts: DomainSet?
        /// Which requests are carried, of those for ``hosts``. Default all. It is called, on Linux twice for a request, while
        /// Foundation holds a lock of its own: it must not make sessions, tasks or classes known to Foundation.
        public var accepts: @Sendable (URLRequest) -> Bool = { _ in true }
        /// The largest body that is gathered, where Foundation takes a body in one piece only (tasks with a completion
        /// handler, on Linux). Default 1 GiB; a larger one is `dataLengthExceedsMaximum`.
        public var maximumGatheredBody = 1 << 30
        /// Gets a line for each request that is left to Foundation although it is for http, and why. Default nil.
        public var log: (@Sendable (String) -> Void)?

        /// The defaults.
        public init() {}
    }
}
