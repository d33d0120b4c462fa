// SPDX-License-Identifier: Apache-2.0

import HTTPWire
public import Names

/// The destination of a client's request: host and port as the request names them.
public struct Destination: Hashable, Sendable, CustomStringConvertible {
    /// The host, a name or an address.
    public var host: Host
    /// The port.
    public var port: UInt16

    package init(_ host: Host, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// `www.example.com:443`.
    public var description: String { "\(host.urlForm):\(port)" }

    /// Parses `host:port`, `[v6]:port` and, if there is a default port, `host`; nil for anything else.
    init?(_ bytes: some BidirectionalCollection<UInt8>, defaultPort: UInt16?) {
        var name = bytes[...]
        var port = defaultPort
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), bytes.last != UInt8(ascii: "]") {
            name = bytes[..<colon]
            let digits = bytes[bytes.index(after: colon)...]
            // An empty port means the default port (RFC 3986 §3.2.3).
            if !digits.isEmpty || defaultPort == nil {
                guard digits.count <= 5, digits.allSatisfy(HTTPCharacters.isDigit),
                    let number = UInt16(String(decoding: digits, as: UTF8.self))
                else { return nil }
                port = number
            }
        }
        // Userinfo makes the text ambiguous: parsers may disagree on the host.
        guard let port, port > 0, !name.isEmpty, !name.contains(where: { "@/\\?#".utf8.contains($0) }) else {
            return nil
        }
        if name.contains(UInt8(ascii: ":")), name.first != UInt8(ascii: "[") { return nil }
        guard let host = try? Host(String(decoding: name, as: UTF8.self)) else { return nil }
        self.init(host, port: port)
    }
}
