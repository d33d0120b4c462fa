// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The backends of a server: one for each resolver, so that domains with the same one share its answers and limits.
struct BackendTable: Sendable {
    let main: NameBackend
    let domains: DomainMap<NameBackend>
    private let resolvers: DomainMap<Resolver>
    private let byResolver: [ObjectIdentifier: NameBackend]

    /// - Parameter former: The table to replace. Resolvers that stay keep their backends, and with them the forwarders'
    ///   answers.
    init(_ resolver: Resolver, domains resolvers: DomainMap<Resolver>, replacing former: BackendTable? = nil) {
        self.resolvers = resolvers
        var byResolver: [ObjectIdentifier: NameBackend] = [:]
        for resolver in [resolver] + resolvers.allValues {
            let id = ObjectIdentifier(resolver)
            byResolver[id] = byResolver[id] ?? former?.byResolver[id] ?? NameBackend(resolver)
        }
        self.byResolver = byResolver
        main = byResolver[ObjectIdentifier(resolver)] ?? NameBackend(resolver)
        domains = resolvers.mapValues { byResolver[ObjectIdentifier($0)] ?? NameBackend($0) }
    }

    /// The table with other resolvers; nil keeps the present ones.
    func with(_ resolver: Resolver?, domains: DomainMap<Resolver>?) -> BackendTable {
        BackendTable(resolver ?? main.resolver, domains: domains ?? resolvers, replacing: self)
    }

    var all: [NameBackend] { Array(byResolver.values) }
}
