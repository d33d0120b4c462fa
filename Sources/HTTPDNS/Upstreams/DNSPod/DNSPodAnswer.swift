// SPDX-License-Identifier: Apache-2.0

import Names

/// One line of DNSPod's answer: `192.0.2.1;192.0.2.2,60-2001:db8::1,60|203.0.113.9`, preceded by the name if there were
/// several.
struct DNSPodAnswer: Hashable {
    /// The name, if the line has one.
    var name: String?
    /// The answer in the line.
    var answer: Answer

    /// Parses a decrypted answer.
    ///
    /// - Parameters:
    ///   - text: The answer.
    ///   - families: The requested families: `both` is `type=addrs`, whose two lists are separated by `-`.
    ///   - named: Whether each line starts with its name, as for several names.
    /// - Throws: ``UpstreamError`` with code `malformedAnswer` at the first item that is not an address or a TTL, such
    ///   as in the HTML page of a captive portal.
    static func parse(
        _ text: String,
        families: Families,
        named: Bool = false
    ) throws(UpstreamError) -> [DNSPodAnswer] {
        // CRLF is one Character, which differs from LF.
        var lines = text.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline)[...]
        // An empty reply means "no record".
        if lines.isEmpty { lines = [""] }
        var answers: [DNSPodAnswer] = []
        for line in lines { answers.append(try parse(line: line, families: families, named: named)) }
        return answers
    }

    private static func parse(
        line: Substring,
        families: Families,
        named: Bool
    ) throws(UpstreamError) -> DNSPodAnswer {
        var rest = line.trimmingSpace
        var name: String?
        // IPv6 addresses contain colons too; only the first colon can end a name.
        if let mark = rest.firstRange(of: ".:") {
            name = rest[..<mark.lowerBound].lowercased()
            rest = rest[mark.upperBound...]
        } else if named, let colon = rest.firstIndex(of: ":") {
            name = rest[..<colon].lowercased()
            rest = rest[rest.index(after: colon)...]
        }
        var answer = Answer()
        if let bar = rest.lastIndex(of: "|") {
            answer.clientAddress = IPAddress(String(rest[rest.index(after: bar)...]))
            rest = rest[..<bar]
        }
        // A dash after a comma is the sign of a TTL, which is refused.
        let dash = rest.indices.first { rest[$0] == "-" && !rest[..<$0].hasSuffix(",") }
        if families == .both, let dash {
            let (v4, v6) = (rest[..<dash], rest[rest.index(after: dash)...])
            // An empty list, without even "0", means that the service could not look it up.
            if !v4.isEmpty { answer.v4 = try records(v4, family: .v4) }
            if !v6.isEmpty { answer.v6 = try records(v6, family: .v6) }
        } else if families == .both {
            // Servers that do not support `type=addrs` answer for IPv4 only.
            answer.v4 = try records(rest, family: .v4)
        } else {
            let family: IPAddress.Family = families == .v6 ? .v6 : .v4
            answer[family] = try records(rest, family: family)
        }
        return DNSPodAnswer(name: name, answer: answer)
    }

    private static func records(_ list: Substring, family: IPAddress.Family) throws(UpstreamError) -> Answer.Records {
        let parts = list.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        var ttl: Duration?
        if parts.count == 2 {
            guard let seconds = UInt32(parts[1]) else { throw malformed(parts[1]) }
            ttl = .seconds(seconds)
        }
        let items = parts.first?.split(separator: ";", omittingEmptySubsequences: true) ?? []
        guard items != ["0"], !items.isEmpty else { return .absent(.noRecord, ttl: nil) }
        var addresses: [IPAddress] = []
        for item in items {
            guard let address = IPAddress(String(item)), address.family == family else { throw malformed(item) }
            addresses.append(address)
        }
        return .addresses(addresses, ttl: ttl)
    }

    private static func malformed(_ item: Substring) -> UpstreamError {
        UpstreamError(.malformedAnswer, "\"\(item.prefix(40))\" is neither an address of its family nor a TTL")
    }
}
