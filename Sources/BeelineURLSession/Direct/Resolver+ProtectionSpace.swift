// SPDX-License-Identifier: Apache-2.0

public import Beeline

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension Resolver {
    /// The host that a challenge of a ``DirectRequest`` belongs to. If the protection space names an address, this is the host
    /// that the resolver returned the address for; otherwise it is the space's own host.
    ///
    /// - Throws: `BeelineError` with code `addressUnknown`, or `addressShared` if the address belongs to several hosts, because
    ///   the expected certificate is then ambiguous.
    public func host(for space: URLProtectionSpace) throws -> Names.Host {
        let host = try Names.Host(space.host)
        guard let address = host.address else { return host }
        return try onlyHost(of: address)
    }
}
