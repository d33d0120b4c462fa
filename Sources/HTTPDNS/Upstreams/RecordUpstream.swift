// SPDX-License-Identifier: Apache-2.0

package import Names

/// A question for the HTTPS records of a name.
package struct ServiceQuestion: Hashable, Sendable {
    /// The name, which may start with `_PORT._https` (RFC 9460 §9.1).
    package var name: DNSName
    /// The network to resolve for (RFC 7871); nil: the client's own.
    package var subnet: IPNetwork?

    package init(_ name: DNSName, subnet: IPNetwork? = nil) {
        self.name = name
        self.subnet = subnet
    }
}

/// The answer of an upstream to a question for SVCB or HTTPS records.
package struct ServiceReply: Hashable, Sendable {
    /// The records; empty if there are none.
    package var records: [HTTPSRecord]
    /// The name that has the records, after all CNAMEs.
    package var owner: DNSName
    /// How long the answer may be cached; nil: not confirmed (no SOA, RFC 2308 §5).
    package var ttl: Duration?
    /// Whether the answer came over an authenticated connection.
    package var isAuthenticated = false

    package init(_ records: [HTTPSRecord] = [], owner: DNSName, ttl: Duration?) {
        self.records = records
        self.owner = owner
        self.ttl = ttl
    }
}

/// An upstream that carries records of any type, so that it can be asked for HTTPS records.
package protocol RecordUpstream: Upstream {
    /// Whether the connection to the upstream is encrypted and its certificate is verified, so that an attacker cannot
    /// change its answers. Default: true.
    var isAuthenticated: Bool { get }

    /// Asks for HTTPS records (RFC 9460 §9).
    ///
    /// - Throws: ``UpstreamError``. A name without records is an answer, not an error.
    func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply
}

extension RecordUpstream {
    /// True.
    package var isAuthenticated: Bool { true }
}
