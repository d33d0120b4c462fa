// SPDX-License-Identifier: Apache-2.0

#if Redis
import Names

/// A host name or address, and a port.
public struct RedisHost: Hashable, Sendable, CustomStringConvertible {
    /// The name or address.
    public var name: String
    /// The port.
    public var port: UInt16

    /// Makes a host.
    public init(_ name: String, port: UInt16) { (self.name, self.port) = (name, port) }

    /// Reads `HOST`, `HOST:PORT`, `[IPv6]` or `[IPv6]:PORT`. Nil for other texts.
    init?(_ text: String, defaultPort: UInt16) {
        var name = text[...]
        var port = defaultPort
        if let mark = text.lastIndex(of: ":"), !text.hasSuffix("]") {
            guard let number = UInt16(text[text.index(after: mark)...]), number > 0 else { return nil }
            (name, port) = (text[..<mark], number)
        }
        self.init(checking: String(name), port: port)
    }

    /// Nil for a name that is neither a host name nor an address, and for port 0. For names that a server has sent.
    init?(checking name: String, port: UInt16) {
        guard port > 0, let host = try? Host(name) else { return nil }
        self.init(host.text, port: port)
    }

    /// `HOST:PORT`.
    public var description: String { (name.contains(":") ? "[\(name)]" : name) + ":\(port)" }
}
#endif
