// SPDX-License-Identifier: Apache-2.0

import HTTPWire

/// The variables of an HLS playlist (`EXT-X-DEFINE`, draft-pantos-hls-rfc8216bis §4.3). A link may take its host from a variable,
/// so variables are replaced before links are mapped.
struct PlaylistVariables {
    private var values: [String: String] = [:]
    /// The number of bytes that may still be inserted. It bounds the expansion of a small playlist.
    private var left = PlaylistMapper.sizeLimit

    /// Records the variable that a line defines. Imported ones and those of the URL are known only to the player.
    mutating func recordDefinition(in line: Substring) {
        guard line.beginsExactly(with: "#EXT-X-DEFINE:") else { return }
        guard let name = Self.attribute("NAME", of: line), let value = Self.attribute("VALUE", of: line) else { return }
        let text = resolved(value) ?? String(value)
        // A variable that depends on an unknown one is unknown.
        values[String(name)] = text[...].firstOctets(of: "{$") != nil ? nil : text
    }

    /// The text with its known variables replaced; nil if it contains none.
    mutating func resolved(_ text: Substring) -> String? {
        guard !values.isEmpty else { return nil }
        var result = ""
        /// The text that is not in the result, and the part of it that was not searched.
        var (rest, unread) = (text, text)
        while let mark = unread.firstOctets(of: "{$") {
            // A name ends at the first invalid octet, so the text after a brace is scanned once.
            let name = unread[mark.upperBound...]
            let end = name.utf8.firstIndex { !Self.isNameOctet($0) } ?? name.endIndex
            unread = name[end...]
            guard unread.utf8.first == UInt8(ascii: "}"), let value = values[String(name[..<end])],
                value.utf8.count <= left
            else { continue }
            result += rest[..<mark.lowerBound]
            result += value
            left -= value.utf8.count
            unread = unread.droppingOctets(1)
            rest = unread
        }
        return rest.startIndex == text.startIndex ? nil : result + rest
    }

    private static func isNameOctet(_ octet: UInt8) -> Bool {
        HTTPCharacters.isLetterOrDigit(octet) || octet == UInt8(ascii: "-") || octet == UInt8(ascii: "_")
    }

    /// The value of a quoted attribute.
    private static func attribute(_ name: String, of line: Substring) -> Substring? {
        let beginnings = [":\(name)=\"", ",\(name)=\""]
        var rest = line
        while let (before, value, after) = rest.firstQuoted() {
            if beginnings.contains(where: before.endsExactly) { return value }
            rest = after
        }
        return nil
    }
}
