// SPDX-License-Identifier: Apache-2.0

import Names

/// Keeps answers beyond the life of a process.
public protocol AnswerStore: Sendable {
    /// Returns the answers that were saved last. Unreadable answers are left out. Called by ``Resolver/restore()``. If
    /// it throws, the resolver works without stored answers, reads again before each save, and overwrites the store
    /// after five failed reads.
    func load() async throws -> [StoredAnswer]

    /// Replaces all stored answers. Called by ``Resolver/save()``, which ignores an error: the next save has all
    /// answers again.
    func save(_ answers: [StoredAnswer]) async throws
}

/// An answer in an ``AnswerStore``. Times are seconds since 1970, because monotonic clocks do not carry over to another
/// process.
public struct StoredAnswer: Hashable, Sendable, Codable {
    /// One family's part.
    public struct Part: Hashable, Sendable, Codable {
        /// The addresses as text.
        public var addresses: [String]
        /// When the answer was received, in seconds since 1970.
        public var storedAt: Int64
        /// When the TTL ends, in seconds since 1970.
        public var expiresAt: Int64

        /// A part with addresses and times.
        public init(addresses: [String], storedAt: Int64, expiresAt: Int64) {
            self.addresses = addresses
            self.storedAt = storedAt
            self.expiresAt = expiresAt
        }
    }

    /// The name, followed by a slash and the subnet if the answer is for a subnet.
    public var name: String
    /// The ``Network/id`` of the network in which the answer was received.
    public var network: String
    /// The upstream that gave the answer.
    public var upstream: String
    /// IPv4; nil if unknown.
    public var v4: Part?
    /// IPv6; nil if unknown.
    public var v6: Part?

    /// An answer of an upstream in a network.
    public init(name: String, network: String, upstream: String, v4: Part? = nil, v6: Part? = nil) {
        self.name = name
        self.network = network
        self.upstream = upstream
        self.v4 = v4
        self.v6 = v6
    }
}
