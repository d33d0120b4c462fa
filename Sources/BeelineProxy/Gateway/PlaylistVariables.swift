// SPDX-License-Identifier: Apache-2.0

/// The variables of an HLS playlist (`EXT-X-DEFINE`, draft-pantos-hls-rfc8216bis §4.3). A link may take its host from a variable,
/// so variables are replaced before links are mapped.
struct PlaylistVariables {
    private var values: [String: String] = [:]
    /// The number of bytes that may still be inserted. It bounds the expansion of a small playlist.
    private var left = PlaylistMapper.sizeLimit

    /// Records the variable that a line defines; ignores other lines. Variables imported or taken from the URL are known only to
    /// the player.
    mutating func recordDefinition(in line: Substring) {
        guard line.hasPrefix("#EXT-X-DEFINE:") else { return }
        guard let name = Self.attribute("NAME", of: line), let value = Self.attribute("VALUE", of: line) else { return }
        let text = resolved(value) ?? String(value)
        // A variable that depends on an unknown one is unknown.
        values[String(name)] = text.contains("{$") ? nil : text
    }

    /// The text with its known variables replaced; nil if it contains none.
    mutating func resolved(_ text: Substring) -> String? {
        guard !values.isEmpty, text.contains("{$") else { return nil }
        var result = ""
        var isChanged = false
        var rest = text
        while let brace = rest.firstIndex(of: "{") {
            result += rest[..<brace]
            rest = rest[brace...]
            // A name ends at the first invalid character, so the text after a brace is scanned once.
            let name = rest.dropFirst(2).prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            let behind = rest[name.endIndex...]
            if rest.hasPrefix("{$"), behind.first == "}", let value = values[String(name)], value.utf8.count <= left {
                result += value
                left -= value.utf8.count
                isChanged = true
                rest = behind.dropFirst()
            } else {
                result += rest.prefix(1)
                rest = rest.dropFirst()
            }
        }
        return isChanged ? result + rest : nil
    }

    /// The value of a quoted attribute.
    private static func attribute(_ name: String, of line: Substring) -> Substring? {
        var rest = line
        while let quote = rest.firstIndex(of: "\"") {
            let inside = rest[rest.index(after: quote)...]
            guard let end = inside.firstIndex(of: "\"") else { return nil }
            if rest[...quote].hasSuffix(":\(name)=\"") || rest[...quote].hasSuffix(",\(name)=\"") {
                return inside[..<end]
            }
            rest = inside[inside.index(after: end)...]
        }
        return nil
    }
}
