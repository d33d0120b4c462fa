// SPDX-License-Identifier: Apache-2.0

public import Beeline

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension Resolver {
    /// The host that a challenge is really about, where the request was in the old form (``DirectRequest``): the one that
    /// the address of the protection space was handed out for, or the space's own where that is a name.
    ///
    /// - Throws: `BeelineError` with code `addressUnknown`, or `addressShared`: with several hosts of one address nobody
    ///   can say whose certificate it should be.
    public func host(for space: URLProtectionSpace) throws -> Names.Host {
        let host = try Names.Host(space.host)
        guard let address = host.address else { return host }
        return try onlyHost(of: address)
    }
}
