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

    /// The maximum size of a document: 8 MiB. A larger one is an error: its unmapped links would bypass the gateway.
    static let sizeLimit = 8 << 20
    /// The bytes that reading the host of a link is charged as, because it takes as long as copying more bytes than a link may
    /// have. This bounds the time for a document of short links.
    private static let linkCost = 32

    private let links: GatewayLinks
    private let base: HTTPURL
    /// The number of directories in the document's path.
    private let depth: Int
    private let baseLength: Int
    /// The prefix for links that begin with a slash.
    private let root: String
    /// The text that is being mapped, and the variables of its playlist.
    private var result = MappedText("")
    private var variables = PlaylistVariables()

    init(links: GatewayLinks, base: HTTPURL) {
        self.links = links
        self.base = base
        depth = max(0, base.path.utf8.count { $0 == UInt8(ascii: "/") } - 1)
        baseLength = base.target.utf8.count
        root = links.root(of: base)
    }

    /// The text with its links mapped.
    ///
    /// - Throws: ``MappingBudget/Fault`` if the text grows too large or the task is cancelled.
    func mapped(_ text: String, as kind: Kind) throws(MappingBudget.Fault) -> String {
        var run = self
        run.result = MappedText(text)
        switch kind {
        case .hls: try run.mapHLS(text)
        case .dash: try run.mapDASH(text)
        case .assets, .steering: return text
        }
        return try run.result.finished()
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

    // MARK: Links

    /// The link mapped to the gateway; nil if it stays unchanged. Its base is not the document if the manifest has another.
    private mutating func mapped(_ link: Substring) throws(MappingBudget.Fault) -> String? {
        if link.firstOctets(of: "//") != nil { try result.charge(Self.linkCost) }
        return links.mapped(link, base: base, baseRoot: root)
    }

    /// The link mapped to the gateway; nil if it stays unchanged. Its base is the document.
    private mutating func mappedLink(_ link: Substring) throws(MappingBudget.Fault) -> String? {
        if links.leadsAboveRoot(link, depth: depth) {
            try result.charge(baseLength + Self.linkCost)
            if let target = links.resolved(link, base: base) { return target }
        }
        return try mapped(link)
    }

    // MARK: HLS

    private mutating func mapHLS(_ text: String) throws(MappingBudget.Fault) {
        var start = text.startIndex
        while start < text.endIndex {
            let end = text.utf8[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.endIndex
            var line = text[start..<end]
            if line.utf8.last == UInt8(ascii: "\r") { line = line[..<line.utf8.index(before: end)] }
            start = end < text.endIndex ? text.utf8.index(after: end) : end
            if line.utf8.first == UInt8(ascii: "#") {
                try mapTag(line)
                variables.recordDefinition(in: line)
            } else {
                let link = line[(line.utf8.firstIndex { !$0.isBlank } ?? line.endIndex)...]
                if let target = try mappedHLSLink(link) { try result.replace(line, with: target) }
            }
        }
    }

    /// The link with variables replaced and mapped to the gateway; nil if it stays unchanged.
    private mutating func mappedHLSLink(_ link: Substring) throws(MappingBudget.Fault) -> String? {
        let resolved = variables.resolved(link)
        return try mappedLink(resolved?[...] ?? link) ?? resolved
    }

    /// Maps a link to a document when only the tag shows the document's kind.
    private mutating func mappedDocument(_ link: Substring, as kind: Kind) throws(MappingBudget.Fault) -> String? {
        try result.charge(baseLength + Self.linkCost)
        let resolved = variables.resolved(link)
        return links.resolved(resolved?[...] ?? link, base: base, as: kind) ?? resolved
    }

    /// Maps the value of a variable that is the beginning of a link, which other playlists may import. No slash is added at its
    /// end, because the text after the variable begins with one.
    private mutating func mappedValue(_ value: Substring) -> String? {
        guard value.firstOctets(of: "://") != nil else { return nil }
        let resolved = variables.resolved(value)
        return links.mapped(resolved?[...] ?? value, base: base, baseRoot: root, isBeginning: true) ?? resolved
    }

    /// Maps attributes whose names end in URI, and variables that begin a link. Strings have no quotes (RFC 8216 §4.2).
    private mutating func mapTag(_ line: Substring) throws(MappingBudget.Fault) {
        guard line.beginsExactly(with: "#EXT") else { return }
        let isDefinition = line.beginsExactly(with: "#EXT-X-DEFINE:")
        var rest = line
        while let (before, value, after) = rest.firstQuoted() {
            var target: String?
            if isDefinition {
                if before.endsExactly(with: "VALUE=\"") { target = mappedValue(value) }
            } else if before.endsExactly(with: "X-ASSET-LIST=\"") {
                target = try mappedDocument(value, as: .assets)
            } else if before.endsExactly(with: "SERVER-URI=\"") {
                target = try mappedDocument(value, as: .steering)
            } else if before.endsExactly(with: "URI=\"") {
                target = try mappedHLSLink(value)
            }
            if let target { try result.replace(value, with: target) }
            rest = after
        }
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

    private struct LinkElement {
        let name: String
        /// Whether the base of its link is certainly the document, and not a BaseURL.
        let isRelativeToDocument: Bool
    }

    private mutating func mapDASH(_ text: String) throws(MappingBudget.Fault) {
        let hasBase = text[...].firstOctets(of: "BaseURL") != nil
        var rest = text[...]
        /// The element whose text follows.
        var element: LinkElement?
        var openElements = 0
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "<")) {
            if let element { try mapContent(rest[..<open], of: element) }
            let tag = rest[open...]
            guard let end = Self.endOfMarkup(tag) else { return }
            let markup = tag[..<end]
            rest = tag[end...]
            if markup.beginsExactly(with: "<!") {
                // CDATA is part of the element's text, and comments do not end it.
                if let element, markup.beginsExactly(with: Self.dataStart) {
                    let data = markup[..<markup.utf8.index(end, offsetBy: -Self.dataEnd.utf8.count)]
                    try mapContent(data.droppingOctets(Self.dataStart.utf8.count), of: element)
                }
                continue
            }
            element = nil
            if markup.beginsExactly(with: "</") { openElements -= 1 }
            if markup.beginsExactly(with: "</") || markup.beginsExactly(with: "<?") { continue }
            let name = Self.localName(markup)
            if !markup.endsExactly(with: "/>") {
                if Self.elements.contains(name) {
                    element = LinkElement(name: name, isRelativeToDocument: !hasBase || openElements <= 1)
                }
                openElements += 1
            }
            try mapAttributes(markup, isClock: name == "UTCTiming", hasBase: hasBase)
        }
    }

    private mutating func mapContent(_ content: Substring, of element: LinkElement) throws(MappingBudget.Fault) {
        let link = content.withoutBlanks
        guard !link.isEmpty else { return }
        var target: String?
        if element.name == "ContentSteering" {
            try result.charge(baseLength + Self.linkCost)
            target = links.resolved(link, base: base, as: .steering)
        } else if element.isRelativeToDocument {
            target = try mappedLink(link)
        } else {
            target = try mapped(link)
        }
        if let target { try result.replace(link, with: target) }
    }

    private static let dataStart = "<![CDATA["
    private static let dataEnd = "]]>"

    /// The index after a tag, a comment or a CDATA section at the start of a text; nil if it does not end.
    private static func endOfMarkup(_ text: Substring) -> Substring.Index? {
        if text.beginsExactly(with: "<!--") { return text.firstOctets(of: "-->")?.upperBound }
        if text.beginsExactly(with: dataStart) { return text.firstOctets(of: dataEnd)?.upperBound }
        // A `>` in an attribute's value does not end the tag.
        var quote: UInt8?
        for index in text.utf8.indices {
            let octet = text.utf8[index]
            if let open = quote {
                if octet == open { quote = nil }
            } else if octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "'") {
                quote = octet
            } else if octet == UInt8(ascii: ">") {
                return text.utf8.index(after: index)
            }
        }
        return nil
    }

    private static func localName(_ tag: Substring) -> String {
        let text = tag.droppingOctets(1)
        let end = text.utf8.firstIndex { $0.isBlank || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") }
        let name = text[..<(end ?? text.endIndex)]
        let colon = name.utf8.lastIndex(of: UInt8(ascii: ":"))
        return String(colon.map { name[name.utf8.index(after: $0)...] } ?? name)
    }

    /// - Parameters:
    ///   - isClock: whether the tag's `value` is a list of time server URLs, separated by spaces.
    ///   - hasBase: whether a BaseURL may be the base of the links, and not the document.
    private mutating func mapAttributes(_ tag: Substring, isClock: Bool, hasBase: Bool) throws(MappingBudget.Fault) {
        var rest = tag
        while let (before, value, after) = rest.firstQuoted(by: "\"'") {
            let name = Self.attributeName(before)
            if isClock, name == "value" {
                try mapList(value)
            } else if Self.attributes.contains(name) {
                let target = try hasBase ? mapped(value) : mappedLink(value)
                if let target { try result.replace(value, with: target) }
            }
            rest = after
        }
    }

    /// Maps a list of links that are separated by spaces.
    private mutating func mapList(_ list: Substring) throws(MappingBudget.Fault) {
        var rest = list
        while !rest.isEmpty {
            let end = rest.utf8.firstIndex(of: UInt8(ascii: " ")) ?? rest.endIndex
            let link = rest[..<end]
            if let target = try mapped(link) { try result.replace(link, with: target) }
            rest = end < rest.endIndex ? rest[rest.utf8.index(after: end)...] : rest[end...]
        }
    }

    /// The attribute name before the `=` and the quote at the end of a text.
    private static func attributeName(_ text: Substring) -> String {
        let octets = text.utf8.dropLast()
        guard let last = octets.lastIndex(where: { !$0.isBlank && $0 != UInt8(ascii: "=") }) else { return "" }
        let start = octets[...last].lastIndex { $0.isBlank }.map { octets.index(after: $0) } ?? octets.startIndex
        return String(text[start..<octets.index(after: last)])
    }
}
