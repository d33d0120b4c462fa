// SPDX-License-Identifier: Apache-2.0

#if Redis
import HTTPDNS
import Names

/// The Redis value for one family of an answer: the TTL in seconds, then addresses, `none` or `noname`. The key's time
/// to live is the remaining TTL.
enum AnswerText {
    /// The maximum number of addresses to write or read.
    static let maxAddresses = 512
    /// The maximum size of a value to read, in octets.
    static let maxOctets = 32_768

    /// The text of records with a known TTL above zero. Nil for other records.
    static func write(_ records: Answer.Records, maxTTL: Duration) -> (text: String, ttl: Duration)? {
        guard let ttl = records.ttl.map({ min($0, maxTTL) }), ttl.components.seconds > 0 else { return nil }
        let seconds = ttl.components.seconds
        let words =
            switch records {
            case .addresses(let addresses, _): addresses.prefix(maxAddresses).map(\.description)
            case .absent(.noRecord, _): ["none"]
            case .absent(.noName, _): ["noname"]
            }
        guard !words.isEmpty else { return nil }
        return ("\(seconds) \(words.joined(separator: " "))", .seconds(seconds))
    }

    /// Reads a value. Nil if it is malformed, or if at most a tenth of the TTL remains.
    static func read(_ octets: [UInt8], _ family: IPAddress.Family, left: Duration) -> Answer.Records? {
        guard octets.count <= maxOctets, left > .zero else { return nil }
        let words = String(decoding: octets, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count >= 2, words.count <= maxAddresses + 1, let seconds = words.first.flatMap({ UInt32($0) }),
            left <= .seconds(seconds), left > .milliseconds(Int64(seconds) * 100)
        else { return nil }
        switch words[1] {
        case "none" where words.count == 2: return .absent(.noRecord, ttl: left)
        case "noname" where words.count == 2: return .absent(.noName, ttl: left)
        default:
            let addresses = words.dropFirst().compactMap { IPAddress(String($0)) }
            guard addresses.count == words.count - 1, addresses.allSatisfy({ $0.family == family }) else { return nil }
            return .addresses(addresses, ttl: left)
        }
    }
}
#endif
