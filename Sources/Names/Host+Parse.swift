// SPDX-License-Identifier: Apache-2.0

extension Host {
    static func parse(_ text: String) throws(NameError) -> (String, IPAddress?) {
        if text.hasPrefix("["), text.hasSuffix("]") {
            guard let address = IPAddress(String(text.dropFirst().dropLast())), address.family == .v6 else {
                throw NameError(.malformedHost, "host \"\(text)\": not an IPv6 address in brackets")
            }
            return (address.description, address)
        }
        if let address = IPAddress(text) { return (address.description, address) }
        let ascii = text.lowercased()
        guard !ascii.isEmpty, ascii.utf8.count <= 255,
            ascii.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"#/:<>?@[\\]^|%".utf8.contains($0) })
        else {
            throw NameError(.malformedHost, "host \"\(text)\": write a domain or an IP address")
        }
        return (ascii, nil)
    }
}
