// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Maps the links of playlists and leaves everything else unchanged.
struct PlaylistMapper: Sendable {
    /// The kinds of documents that are mapped.
    enum Kind: String, Sendable {
        /// An HLS playlist (RFC 8216).
        case hls
        /// A DASH manifest or a patch of one (ISO/IEC 23009-1).
        case dash
        /// The asset list of an HLS interstitial, in JSON. Only the playlist that refers to it shows its kind.
        case assets
        /// A steering manifest, in JSON. Only the playlist or manifest that refers to it shows its kind.
        case steering

        /// The kind according to a response's content type and path; nil for other documents.
        init?(contentType: String?, path: String) {
            let type = (contentType ?? "").prefix { $0 != ";" }.lowercased()
            let path = path.lowercased()
            if type.hasSuffix("mpegurl") || path.hasSuffix(".m3u8") {
                self = .hls
            } else if ["application/dash+xml", "application/dash-patch+xml"].contains(type) || path.hasSuffix(".mpd") {
                self = .dash
            } else {
                return nil
            }
        }
    }

    /// The maximum size of a document in bytes: 8 MiB. Larger documents are an error, because their unmapped links would bypass
    /// the gateway.
    static let sizeLimit = 8 << 20

    private let links: GatewayLinks
    private let base: HTTPURL
    /// The number of directories in the document's path.
    private let depth: Int
    private let baseLength: Int
    /// The prefix for links that begin with a slash.
    private let root: String

    init(links: GatewayLinks, base: HTTPURL) {
        self.links = links
        self.base = base
        depth = max(0, base.path.utf8.count { $0 == UInt8(ascii: "/") } - 1)
        baseLength = base.target.utf8.count
        root = links.root(of: base)
    }

    private func mapped(_ link: Substring) -> String? { links.mapped(link, base: base, baseRoot: root) }

    /// The text with its links mapped.
    ///
    /// - Throws: ``MappingBudget/Fault`` if the text grows too large or the task is cancelled.
    func mapped(_ text: String, as kind: Kind) throws(MappingBudget.Fault) -> String {
        var result = MappedText(size: text.utf8.count)
        switch kind {
        case .hls: try mapHLS(text, to: &result)
        case .dash: try mapDASH(text, to: &result)
        case .assets, .steering: return text
        }
        return result.text
    }

    /// The document with its links mapped. A document in another encoding than UTF-8 or UTF-16 is mapped byte by byte, so that
    /// everything except its links is preserved.
    func mapped(_ document: ByteBuffer, as kind: Kind) throws(MappingBudget.Fault) -> ByteBuffer {
        let text = String(buffer: document)
        if text.utf8.elementsEqual(document.readableBytesView) { return ByteBuffer(string: try mapped(text, as: kind)) }
        if let text = UTF16Text(document.readableBytesView) {
            return ByteBuffer(bytes: text.octets(of: try mapped(text.text, as: kind)))
        }
        var octets = String()
        octets.unicodeScalars.append(contentsOf: document.readableBytesView.map { Unicode.Scalar($0) })
        return ByteBuffer(
            bytes: try mapped(octets, as: kind).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        )
    }

    // MARK: HLS

    private func mapHLS(_ text: String, to result: inout MappedText) throws(MappingBudget.Fault) {
        var variables = PlaylistVariables()
        var rest = text[...]
        while !rest.isEmpty {
            // Swift treats CR LF as one character.
            let end = rest.firstIndex { $0 == "\n" || $0 == "\r\n" } ?? rest.endIndex
            let line = rest[..<end]
            if line.hasPrefix("#") {
                try mapTag(line, variables: &variables, to: &result)
            } else {
                let link = line.drop { $0 == " " || $0 == "\t" }
                try result.append(mappedLink(link, variables: &variables, charging: &result) ?? String(line))
            }
            variables.recordDefinition(in: line)
            let next = end < rest.endIndex ? rest.index(after: end) : end
            try result.append(rest[end..<next])
            rest = rest[next...]
        }
    }

    /// The link with variables replaced and mapped to the gateway; nil if it stays unchanged.
    private func mappedLink(
        _ link: Substring,
        variables: inout PlaylistVariables,
        charging result: inout MappedText
    ) throws(MappingBudget.Fault) -> String? {
        let resolved = variables.resolved(link)
        let reference = resolved?[...] ?? link
        if let mapped = mapped(reference) { return mapped }
        guard links.leadsAboveRoot(reference, depth: depth) else { return resolved }
        try result.charge(baseLength)
        return links.resolved(reference, base: base) ?? resolved
    }

    /// Maps a link to a document when only the tag shows the document's kind.
    private func mappedDocument(
        _ link: Substring,
        as kind: Kind,
        variables: inout PlaylistVariables,
        charging result: inout MappedText
    ) throws(MappingBudget.Fault) -> String? {
        try result.charge(baseLength)
        let resolved = variables.resolved(link)
        return links.resolved(resolved?[...] ?? link, base: base, as: kind) ?? resolved
    }

    /// Maps the value of a variable that is the beginning of a link, which other playlists may import. No slash is added at its
    /// end, because the text after the variable begins with one.
    private func mappedValue(_ value: Substring, variables: inout PlaylistVariables) -> String? {
        guard value.contains("://") else { return nil }
        let resolved = variables.resolved(value)
        return links.mapped(resolved?[...] ?? value, base: base, baseRoot: root, isBeginning: true) ?? resolved
    }

    /// Maps the attributes of a tag whose names end in URI, and variables that are the beginning of a link. Quoted strings
    /// contain no quotes (RFC 8216 §4.2).
    private func mapTag(
        _ line: Substring,
        variables: inout PlaylistVariables,
        to result: inout MappedText
    ) throws(MappingBudget.Fault) {
        let isDefinition = line.hasPrefix("#EXT-X-DEFINE:")
        let hasLink = line.contains("URI=\"") || line.contains("X-ASSET-LIST=\"")
        guard isDefinition || line.hasPrefix("#EXT") && hasLink else { return try result.append(line) }
        var rest = line
        while let quote = rest.firstIndex(of: "\"") {
            let before = rest[...quote]
            let inside = rest[rest.index(after: quote)...]
            guard let end = inside.firstIndex(of: "\"") else { break }
            let value = inside[..<end]
            try result.append(before)
            var mapped: String?
            if isDefinition {
                if before.hasSuffix("VALUE=\"") { mapped = mappedValue(value, variables: &variables) }
            } else if before.hasSuffix("X-ASSET-LIST=\"") {
                mapped = try mappedDocument(value, as: .assets, variables: &variables, charging: &result)
            } else if before.hasSuffix("SERVER-URI=\"") {
                mapped = try mappedDocument(value, as: .steering, variables: &variables, charging: &result)
            } else if before.hasSuffix("URI=\"") {
                mapped = try mappedLink(value, variables: &variables, charging: &result)
            }
            try result.append(mapped ?? String(value))
            try result.append("\"")
            rest = inside[inside.index(after: end)...]
        }
        try result.append(rest)
    }

    // MARK: DASH

    /// Attributes and elements that contain a URL (ISO/IEC 23009-1 §5.3.9, §5.6; XLink; the licence URLs of DASH-IF).
    private static let attributes: Set<String> = [
        "media", "initialization", "index", "sourceURL", "mediaRange", "bitstreamSwitching", "xlink:href", "href",
        "licenseUrl",
    ]
    private static let elements: Set<String> = [
        "BaseURL", "Location", "PatchLocation", "RemoteUri", "ImportedMPD", "ContentSteering", "Laurl", "laurl",
        "Authzurl", "Certurl",
    ]

    private func mapDASH(_ text: String, to result: inout MappedText) throws(MappingBudget.Fault) {
        var rest = text[...]
        /// The element whose text follows.
        var element = ""
        while let open = rest.firstIndex(of: "<") {
            let content = rest[..<open]
            let isLinked = Self.elements.contains(element)
            try result.append(isLinked ? mappedContent(content, of: element, charging: &result) : String(content))
            let tag = rest[open...]
            let end: Substring.Index?
            if tag.hasPrefix("<!--") {
                end = tag.firstRange(of: "-->")?.upperBound
            } else if tag.hasPrefix("<![CDATA[") {
                end = tag.firstRange(of: "]]>")?.upperBound
            } else {
                end = Self.endOfTag(tag)
            }
            guard let end else { return try result.append(tag) }
            let markup = tag[..<end]
            rest = tag[end...]
            if markup.hasPrefix("<!") {
                // CDATA is part of the element's text, and comments do not end it.
                let isLink = markup.hasPrefix("<![CDATA[") && Self.elements.contains(element)
                let data = markup.dropFirst("<![CDATA[".count).dropLast("]]>".count)
                try result.append(
                    isLink ? "<![CDATA[\(mappedContent(data, of: element, charging: &result))]]>" : String(markup)
                )
                continue
            }
            let isElement = !markup.hasPrefix("<?") && !markup.hasPrefix("</")
            let name = Self.localName(markup)
            element = isElement && !markup.hasSuffix("/>") ? name : ""
            if isElement {
                try mapAttributes(markup, isClock: name == "UTCTiming", to: &result)
            } else {
                try result.append(markup)
            }
        }
        try result.append(rest)
    }

    private func mappedContent(
        _ content: Substring,
        of element: String,
        charging result: inout MappedText
    ) throws(MappingBudget.Fault) -> String {
        let leading = content.prefix { $0.isWhitespace }
        var link = content.dropFirst(leading.count)
        guard element == "ContentSteering", !link.isEmpty else {
            return mapped(link).map { leading + $0 } ?? String(content)
        }
        while link.last?.isWhitespace == true { link = link.dropLast() }
        try result.charge(baseLength)
        return links.resolved(link, base: base, as: .steering) ?? String(content)
    }

    /// The index after a tag's `>`. A `>` in an attribute's value does not count.
    private static func endOfTag(_ tag: Substring) -> Substring.Index? {
        var quote: Character?
        var index = tag.startIndex
        while index < tag.endIndex {
            let character = tag[index]
            index = tag.index(after: index)
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "\"" || character == "'" {
                quote = character
            } else if character == ">" {
                return index
            }
        }
        return nil
    }

    private static func localName(_ tag: Substring) -> String {
        let name = tag.dropFirst().prefix { !$0.isWhitespace && $0 != ">" && $0 != "/" }
        return String(name.split(separator: ":").last ?? "")
    }

    /// - Parameter isClock: whether the tag's `value` is a list of time server URLs, separated by spaces.
    private func mapAttributes(
        _ tag: Substring,
        isClock: Bool,
        to result: inout MappedText
    ) throws(MappingBudget.Fault) {
        var rest = tag
        while let quote = rest.firstIndex(where: { $0 == "\"" || $0 == "'" }) {
            let before = rest[...quote]
            let inside = rest[rest.index(after: quote)...]
            guard let end = inside.firstIndex(of: rest[quote]) else { break }
            let value = inside[..<end]
            try result.append(before)
            let name = Self.attributeName(before.dropLast())
            if isClock, name == "value" {
                var isFirst = true
                for link in value.split(separator: " ", omittingEmptySubsequences: false) {
                    if !isFirst { try result.append(" ") }
                    isFirst = false
                    try result.append(mapped(link) ?? String(link))
                }
            } else {
                let isLink = Self.attributes.contains(name)
                try result.append(isLink ? mapped(value) ?? String(value) : String(value))
            }
            let next = inside.index(after: end)
            try result.append(inside[end..<next])
            rest = inside[next...]
        }
        try result.append(rest)
    }

    /// The attribute name before the `=` at the end of a text.
    private static func attributeName(_ text: Substring) -> String {
        var text = text
        while let last = text.last, last.isWhitespace || last == "=" { text = text.dropLast() }
        return String(
            text.suffix(from: text.lastIndex(where: \.isWhitespace).map(text.index(after:)) ?? text.startIndex)
        )
    }
}
