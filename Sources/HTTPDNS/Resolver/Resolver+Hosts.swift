// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

extension Resolver {
    /// The hosts that an address was an answer for since the resolver was made, in the order in which they came; at most
    /// eight. Empty for an address that it does not know: nobody asked, or its book of
    /// ``ResolverConfiguration/maxRememberedAddresses`` was full.
    ///
    /// One host means that all questions which brought this address were for that host. Another resolver, or this one in a
    /// process before, may have met the address under other names.
    public func hosts(of address: IPAddress) -> [Host] {
        book.withLockedValue { $0.hosts(of: address) }
    }
}
