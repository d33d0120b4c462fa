// SPDX-License-Identifier: Apache-2.0

package import Names

extension Host {
    /// The name without a final dot.
    package var withoutFinalDot: String { domain ?? text }

    /// Whether the name has more than one label.
    var hasDots: Bool {
        // Ignores the last octet, which may be the final dot.
        text.utf8.dropLast().contains(UInt8(ascii: "."))
    }

    /// The name for a service's question, without a final dot.
    func askedName() throws(UpstreamError) -> String {
        _ = try dnsName()
        return withoutFinalDot
    }

    /// Whether `name` in a service's answer is this host.
    func isCalled(_ name: String) -> Bool {
        let name = name.hasSuffix(".") ? name.dropLast() : name[...]
        return name.lowercased() == withoutFinalDot
    }

    /// The name in wire format.
    func dnsName() throws(UpstreamError) -> DNSName {
        guard address == nil, let name = DNSName(text), name.wire.count > 1 else {
            throw UpstreamError(.questionRefused, "\"\(text)\" is not a valid name for DNS")
        }
        return name
    }
}

extension [Host] {
    /// The names for one question to a service, separated by commas.
    func askedNames() throws(UpstreamError) -> String {
        var names: [String] = []
        for host in self { names.append(try host.askedName()) }
        return names.joined(separator: ",")
    }

    /// The host that a part of a service's answer is for.
    ///
    /// - Throws: ``UpstreamError`` with code `wrongAnswer` if none of the hosts has this name.
    func called(_ name: String) throws(UpstreamError) -> Host {
        guard let host = first(where: { $0.isCalled(name) }) else {
            throw UpstreamError(.wrongAnswer, "the answer is for \"\(name.prefix(80))\" too")
        }
        return host
    }
}
