// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import HTTPDNS
public import Names

extension Resolver {
    /// The only host that the resolver has returned an address for.
    ///
    /// - Throws: ``BeelineError``; `addressUnknown` if there is no such host, `addressShared` if there are several. It never
    ///   guesses.
    package func onlyHost(of address: IPAddress) throws(BeelineError) -> Host {
        let hosts = hosts(of: address)
        guard let host = hosts.first else {
            throw BeelineError(
                .addressUnknown,
                "this resolver has not returned \(address): name its host with rehome(from:to:)"
            )
        }
        guard hosts.count == 1 else {
            throw BeelineError(
                .addressShared,
                "\(address) served \(hosts.map(\.description).joined(separator: ", ")): choose one of them with "
                    + "rehome(from:to:)"
            )
        }
        return host
    }
}

extension CookieJar {
    /// Moves the cookies stored under an address to the host that the resolver returned the address for; see
    /// `rehome(from:to:now:)`.
    ///
    /// - Throws: ``BeelineError`` with code `addressUnknown` or `addressShared`. No cookie has moved then.
    @discardableResult
    public func rehome(from address: IPAddress, knownTo resolver: Resolver) throws(BeelineError) -> CookieRehoming {
        rehome(from: address, to: try resolver.onlyHost(of: address))
    }
}
