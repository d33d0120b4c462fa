// SPDX-License-Identifier: Apache-2.0

/// The variables of an HLS playlist (`EXT-X-DEFINE`, draft-pantos-hls-rfc8216bis §4.3): a link may have its host from one, and
/// cannot be mapped before that is put in.
struct PlaylistVariables {
    private var values: [String: String] = [:]
    /// How many bytes may still be put in, so that a small playlist cannot grow without end.
    private var left = PlaylistMapper.sizeLimit

    /// Notes what a line defines; nothing where it is another tag. What a playlist imports, or takes from its URL, only the
    /// player knows.
    mutating func note(_ line: Substring) {
        guard line.hasPrefix("#EXT-X-DEFINE:") else { return }
        guard let name = Self.attribute("NAME", of: line), let value = Self.attribute("VALUE", of: line) else { return }
        let text = resolved(value) ?? String(value)
        // One that needs an unknown one is unknown.
        values[String(name)] = text.contains("{$") ? nil : text
    }

    /// The text with the variables in it replaced; nil where it has none that is known.
    mutating func resolved(_ text: Substring) -> String? {
        guard !values.isEmpty, text.contains("{$") else { return nil }
        var result = ""
        var isChanged = false
        var rest = text
        while let brace = rest.firstIndex(of: "{") {
            result += rest[..<brace]
            rest = rest[brace...]
            // A name ends at the first character that is not one of a name: what follows a brace is read once.
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
