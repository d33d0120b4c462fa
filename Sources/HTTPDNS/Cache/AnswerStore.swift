// SPDX-License-Identifier: Apache-2.0

import Names

/// Keeps answers beyond the life of a process.
public protocol AnswerStore: Sendable {
    /// The answers that were saved last. What cannot be read is left out.
    func load() async throws -> [StoredAnswer]

    /// Replaces what is kept by these answers.
    func save(_ answers: [StoredAnswer]) async throws
}

/// An answer as it is kept beyond the life of a process. Times are seconds since 1970, for clocks that run with the
/// process know nothing of the last one.
public struct StoredAnswer: Hashable, Sendable, Codable {
    /// One family's part.
    public struct Part: Hashable, Sendable, Codable {
        /// The addresses, in text.
        public var addresses: [String]
        /// When they were said.
        public var storedAt: Int64
        /// When their TTL is over.
        public var expiresAt: Int64

        /// A part.
        public init(addresses: [String], storedAt: Int64, expiresAt: Int64) {
            self.addresses = addresses
            self.storedAt = storedAt
            self.expiresAt = expiresAt
        }
    }

    /// The name, with a slash and the subnet behind it where the answer is for one.
    public var name: String
    /// The ``Network/id`` of the network in which it was said.
    public var network: String
    /// The upstream that said it.
    public var upstream: String
    /// IPv4; nil where nothing is known.
    public var v4: Part?
    /// IPv6; nil where nothing is known.
    public var v6: Part?

    /// An answer.
    public init(name: String, network: String, upstream: String, v4: Part? = nil, v6: Part? = nil) {
        self.name = name
        self.network = network
        self.upstream = upstream
        self.v4 = v4
        self.v6 = v6
    }
}
