// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

extension Resolver {
    /// The hosts that resolved to an address since the resolver was created, in order; at most eight. Empty if the
    /// address never occurred, or came after ``ResolverConfiguration/maxRememberedAddresses`` was reached.
    ///
    /// If there is one host, all questions that returned this address were for that host. Other resolvers and earlier
    /// processes may have received the address for other names.
    public func hosts(of address: IPAddress) -> [Host] {
        book.withLockedValue { $0.hosts(of: address) }
    }
}
