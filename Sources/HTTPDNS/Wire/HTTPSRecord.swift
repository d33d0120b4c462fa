// SPDX-License-Identifier: Apache-2.0

public import Names

/// An HTTPS or SVCB record: where and how a service is reached (RFC 9460).
public struct HTTPSRecord: Hashable, Sendable, CustomStringConvertible {
    /// The order in which records are tried, the lowest first. 0: the name is an alias of ``target``, and the record
    /// has no other content (§2.4.2).
    public let priority: UInt16
    package let targetName: DNSName
    package let parameters: ServiceParameters

    package init(priority: UInt16, target: DNSName, parameters: ServiceParameters) {
        self.priority = priority
        targetName = target
        self.parameters = parameters
    }

    /// Decodes the content of a record (§2.2); nil if it is malformed. The parameters of an alias are ignored.
    package init?(octets: [UInt8]) {
        guard octets.count > 2 else { return nil }
        var rest = octets.dropFirst(2)
        let priority = octets.number(at: 0)
        guard let target = DNSName(takenFrom: &rest),
            let parameters = priority == 0 ? ServiceParameters() : ServiceParameters(wire: rest)
        else { return nil }
        self.init(priority: priority, target: target, parameters: parameters)
    }

    /// Reads the text form (§2.1), or the octets in hexadecimal (RFC 3597 §5); nil if it is malformed.
    package init?(text: String) {
        guard let words = MasterText.words(of: text), words.count >= 2 else { return nil }
        if words[0] == Array("#".utf8) {
            let digits = words.dropFirst(2).map { String(decoding: $0, as: UTF8.self) }.joined()
            guard let octets = Hex.decode(digits), "\(octets.count)" == String(decoding: words[1], as: UTF8.self) else {
                return nil
            }
            self.init(octets: octets)
            return
        }
        guard let priority = UInt16(String(decoding: words[0], as: UTF8.self)),
            let target = DNSName(String(decoding: words[1], as: UTF8.self)),
            let parameters = try? ServiceParameters(words: Array(words.dropFirst(2)))
        else { return nil }
        self.init(priority: priority, target: target, parameters: parameters)
    }

    /// The content of the record in wire format.
    package var octets: [UInt8] {
        [UInt8(priority >> 8), UInt8(priority & 0xff)] + targetName.wire + parameters.wire
    }

    /// Whether the record is only an alias.
    package var isAlias: Bool { priority == 0 }

    /// The host that provides the service, without the final dot. `.` stands for the name of the record.
    public var target: String { targetName.description }

    /// The protocols of `alpn`, such as `h2`; empty if the record does not restrict them.
    public var applicationProtocols: [String] { parameters.protocols.map { String(decoding: $0, as: UTF8.self) } }

    /// The port; nil: that of the origin.
    public var port: UInt16? { parameters.port }

    /// The addresses of `ipv6hint` and `ipv4hint`. They are used until the addresses of ``target`` are known.
    public var hints: [IPAddress] { parameters.hints(.v6) + parameters.hints(.v4) }

    /// The `ECHConfigList` for Encrypted Client Hello (RFC 9848), not checked; nil if there is none.
    public var echConfigList: [UInt8]? { parameters[.ech] }

    /// The text form, such as `1 . alpn=h2`.
    public var description: String {
        (["\(priority)", targetName.absoluteText] + parameters.words).joined(separator: " ")
    }
}
