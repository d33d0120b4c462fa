// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import HTTPDNS
public import Names

extension Resolver {
    /// The one host that an address was an answer for.
    ///
    /// - Throws: ``BeelineError`` with code `addressUnknown`, or `addressShared` where there are several: none is guessed.
    public func onlyHost(of address: IPAddress) throws(BeelineError) -> Host {
        let hosts = hosts(of: address)
        guard let host = hosts.first else {
            throw BeelineError(
                .addressUnknown,
                "\(address) was no answer of this resolver: say which host it served, by rehome(from:to:)"
            )
        }
        guard hosts.count == 1 else {
            throw BeelineError(
                .addressShared,
                "\(address) served \(hosts.map(\.description).joined(separator: ", ")): say which of them is meant, by "
                    + "rehome(from:to:)"
            )
        }
        return host
    }
}

extension CookieJar {
    /// Moves the cookies that are filed under an address to the host that a resolver handed it out for; see
    /// `rehome(from:to:now:)`.
    ///
    /// - Throws: ``BeelineError`` with code `addressUnknown` or `addressShared`; nothing has been moved then.
    @discardableResult
    public func rehome(from address: IPAddress, knownTo resolver: Resolver) throws(BeelineError) -> CookieRehoming {
        rehome(from: address, to: try resolver.onlyHost(of: address))
    }
}
