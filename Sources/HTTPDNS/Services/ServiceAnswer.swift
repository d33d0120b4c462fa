// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import Names

/// The cached data about the HTTPS records of a name. A class, so that a name without records takes one word in the
/// cache.
package final class ServiceAnswer: Hashable, Sendable {
    /// The maximum number of records that are kept of an answer. Real services have few.
    static let maxRecords = 16

    /// The records of the name itself, in the order of their priority.
    package let records: [HTTPSRecord]
    /// The routes, after all aliases, in the order of their priority. Empty if there are no usable records.
    let routes: [ServiceRoute]
    /// The name of the upstream; empty if none has answered.
    let upstream: String
    package let expiresAt: Moment
    /// The time until which the records are used if no upstream has newer ones (RFC 8767).
    let usableUntil: Moment
    /// When failed endpoints may make the records expire again.
    let forceAt: Moment
    /// How many lookups in a row no upstream answered, so that it is not known whether there are records.
    let failures: Int

    init(
        records: [HTTPSRecord],
        routes: [ServiceRoute],
        upstream: String,
        expiresAt: Moment,
        usableUntil: Moment,
        forceAt: Moment,
        failures: Int
    ) {
        self.records = records
        self.routes = routes
        self.upstream = upstream
        self.expiresAt = expiresAt
        self.usableUntil = usableUntil
        self.forceAt = forceAt
        self.failures = failures
    }

    /// Whether it is known that there are no records.
    var isAbsence: Bool { records.isEmpty && failures == 0 }

    /// The estimated size, in octets.
    var octets: Int {
        let hints = routes.reduce(0) { $0 + $1.hints.count }
        return records.reduce(80 + 24 * hints) { $0 + 128 + 2 * $1.octets.count }
    }

    /// The same records with other times.
    func with(expiresAt: Moment, forceAt: Moment? = nil) -> ServiceAnswer {
        ServiceAnswer(
            records: records,
            routes: routes,
            upstream: upstream,
            expiresAt: expiresAt,
            usableUntil: usableUntil,
            forceAt: forceAt ?? self.forceAt,
            failures: failures
        )
    }

    package static func == (one: ServiceAnswer, other: ServiceAnswer) -> Bool {
        one === other
            || one.records == other.records && one.routes == other.routes && one.expiresAt == other.expiresAt
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(records) }
}

/// A route to an origin: a record that this client can use, or the end of a chain of aliases.
struct ServiceRoute: Hashable, Sendable {
    /// The maximum number of hints of one family. Others are dropped, because hints are sorted at each use.
    static let maxHints = 16

    var priority: UInt16 = 0
    /// The host that provides the service; nil: the origin's own.
    var target: Host?
    /// The port; nil: the origin's own.
    var port: UInt16?
    var hints: [IPAddress] = []
    /// The ALPN identifiers that this client also supports; nil if the record does not restrict them.
    var protocols: [String]?
    /// The `ECHConfigList`, not checked.
    var ech: [UInt8]?
    /// Whether the client can use ``ech``.
    private(set) var hasUsableECH = false
    /// Whether the records of this route came over authenticated connections.
    var isAuthenticated = false

    /// The protocols of this client. HTTP/3 is not supported, so records with only `h3` are skipped.
    private static let supportedProtocols = ["h2", "http/1.1"]

    /// A route that has only the addresses of a host, after an alias.
    init(to target: Host) { self.target = target }

    /// The route of a record; nil if the client does not understand the record (RFC 9460 §8) or supports none of its
    /// protocols (§7.1.2).
    ///
    /// - Parameter target: The host of the record's target; nil: the origin's own.
    init?(_ record: HTTPSRecord, target: Host?) {
        let parameters = record.parameters
        guard parameters.mandatory.allSatisfy(ServiceParameters.Key.understood.contains) else { return nil }
        if parameters[.alpn] != nil {
            var offered = record.applicationProtocols
            if parameters[.noDefaultALPN] == nil { offered.append("http/1.1") }
            let common = Self.supportedProtocols.filter(offered.contains)
            guard !common.isEmpty else { return nil }
            protocols = common
        }
        priority = record.priority
        self.target = target
        // Port 0 is not valid.
        port = record.port
        guard port != 0 else { return nil }
        hints = Array(parameters.hints(.v6).prefix(Self.maxHints) + parameters.hints(.v4).prefix(Self.maxHints))
        ech = record.echConfigList
        hasUsableECH = ech.map { (try? ECHConfigList($0)) != nil } ?? false
    }

    /// The route with hints of these families only.
    func hinting(_ families: Families) -> ServiceRoute {
        var route = self
        route.hints.removeAll { !families.contains(Families($0.family)) }
        return route
    }
}
