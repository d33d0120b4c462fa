// SPDX-License-Identifier: Apache-2.0

import Names

/// Maps the links of documents that players follow, and nothing else in them.
struct PlaylistMapper: Sendable {
    /// The documents that are read.
    enum Kind: Sendable {
        /// An HLS playlist (RFC 8216).
        case hls
        /// A DASH manifest or a patch of one (ISO/IEC 23009-1).
        case dash

        /// What a response's type and path say; nil for other documents.
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

    /// Documents larger than this are not read: an error, since their links would lead past the gateway. 8 MiB.
    static let sizeLimit = 8 << 20

    let links: GatewayLinks
    /// The URL of the document.
    let base: HTTPURL

    func mapped(_ text: String, _ kind: Kind) -> String {
        switch kind {
        case .hls: mappedHLS(text)
        case .dash: mappedDASH(text)
        }
    }

    // MARK: HLS

    private func mappedHLS(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count * 2)
        var variables = PlaylistVariables()
        var rest = text[...]
        while !rest.isEmpty {
            // A carriage return and a line feed are one character.
            let end = rest.firstIndex { $0 == "\n" || $0 == "\r\n" } ?? rest.endIndex
            let line = rest[..<end]
            result += line.hasPrefix("#") ? mappedTag(line, &variables) : mappedReference(line, &variables)
            variables.note(line)
            if end < rest.endIndex {
                result.append(rest[end])
                rest = rest[rest.index(after: end)...]
            } else {
                rest = rest[end...]
            }
        }
        return result
    }

    private func mappedReference(_ line: Substring, _ variables: inout PlaylistVariables) -> String {
        let link = line.drop { $0 == " " || $0 == "\t" }
        return mappedLink(link, &variables) ?? String(line)
    }

    /// A link with its variables put in, mapped where it leads to a listed host; nil where it stays as it is.
    private func mappedLink(_ link: Substring, _ variables: inout PlaylistVariables) -> String? {
        guard let resolved = variables.resolved(link) else { return links.mapped(link, base: base) }
        return links.mapped(resolved[...], base: base) ?? resolved
    }

    /// A tag's attributes whose names end in URI (RFC 8216 §4.2: quoted strings have no quotes in them), and variables that
    /// are the beginning of a link, which other playlists may import.
    private func mappedTag(_ line: Substring, _ variables: inout PlaylistVariables) -> String {
        let isDefinition = line.hasPrefix("#EXT-X-DEFINE:")
        guard isDefinition || line.hasPrefix("#EXT") && line.contains("URI=\"") else { return String(line) }
        var result = ""
        var rest = line
        while let quote = rest.firstIndex(of: "\"") {
            let before = rest[...quote]
            let inside = rest[rest.index(after: quote)...]
            guard let end = inside.firstIndex(of: "\"") else { break }
            let value = inside[..<end]
            result += before
            let isLink =
                isDefinition ? before.hasSuffix("VALUE=\"") && value.contains("://") : before.hasSuffix("URI=\"")
            result += isLink ? mappedLink(value, &variables) ?? String(value) : String(value)
            result += "\""
            rest = inside[inside.index(after: end)...]
        }
        return result + rest
    }

    // MARK: DASH

    /// Attributes and elements that hold a URL (ISO/IEC 23009-1 §5.3.9, §5.6; XLink; DASH-IF's of licences).
    private static let attributes: Set<String> = [
        "media", "initialization", "index", "sourceURL", "mediaRange", "bitstreamSwitching", "xlink:href", "href",
        "licenseUrl",
    ]
    private static let elements: Set<String> = [
        "BaseURL", "Location", "PatchLocation", "RemoteUri", "ImportedMPD", "ContentSteering", "Laurl", "laurl",
        "Authzurl", "Certurl",
    ]

    private func mappedDASH(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count * 2)
        var rest = text[...]
        /// The element whose text comes next.
        var element = ""
        while let open = rest.firstIndex(of: "<") {
            let content = rest[..<open]
            result += Self.elements.contains(element) ? mappedContent(content) : String(content)
            let tag = rest[open...]
            let end: Substring.Index?
            if tag.hasPrefix("<!--") {
                end = tag.range(of: "-->")
            } else if tag.hasPrefix("<![CDATA[") {
                end = tag.range(of: "]]>")
            } else {
                end = Self.endOfTag(tag)
            }
            guard let end else { return result + tag }
            let markup = tag[..<end]
            rest = tag[end...]
            if markup.hasPrefix("<!") {
                // It stands within the element, and its data are the element's text.
                let isLink = markup.hasPrefix("<![CDATA[") && Self.elements.contains(element)
                let data = markup.dropFirst("<![CDATA[".count).dropLast("]]>".count)
                result += isLink ? "<![CDATA[\(mappedContent(data))]]>" : String(markup)
                continue
            }
            let isElement = !markup.hasPrefix("<?") && !markup.hasPrefix("</")
            let name = Self.localName(markup)
            element = isElement && !markup.hasSuffix("/>") ? name : ""
            result += isElement ? mappedAttributes(markup, isClock: name == "UTCTiming") : String(markup)
        }
        return result + rest
    }

    private func mappedContent(_ content: Substring) -> String {
        let leading = content.prefix { $0.isWhitespace }
        let link = content.dropFirst(leading.count)
        return links.mapped(link, base: base).map { leading + $0 } ?? String(content)
    }

    /// Behind a tag's `>`; one in an attribute's value does not count.
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

    /// - Parameter isClock: whether the tag's `value` is where to ask for the time: links, parted by blanks.
    private func mappedAttributes(_ tag: Substring, isClock: Bool) -> String {
        var result = ""
        var rest = tag
        while let quote = rest.firstIndex(where: { $0 == "\"" || $0 == "'" }) {
            let before = rest[..<quote]
            let inside = rest[rest.index(after: quote)...]
            guard let end = inside.firstIndex(of: rest[quote]) else { break }
            let value = inside[..<end]
            result += before
            result.append(rest[quote])
            let name = Self.attributeName(before)
            if isClock, name == "value" {
                result += value.split(separator: " ", omittingEmptySubsequences: false)
                    .map { links.mapped($0, base: base) ?? String($0) }.joined(separator: " ")
            } else {
                let isLink = Self.attributes.contains(name)
                result += isLink ? links.mapped(value, base: base) ?? String(value) : String(value)
            }
            result.append(rest[quote])
            rest = inside[inside.index(after: end)...]
        }
        return result + rest
    }

    /// The name before `=` at the end of a text.
    private static func attributeName(_ text: Substring) -> String {
        var text = text
        while let last = text.last, last.isWhitespace || last == "=" { text = text.dropLast() }
        return String(
            text.suffix(from: text.lastIndex(where: \.isWhitespace).map(text.index(after:)) ?? text.startIndex)
        )
    }
}

extension Substring {
    /// Behind the first place where a text stands; nil where it does not.
    fileprivate func range(of mark: String) -> Index? {
        var index = startIndex
        while index < endIndex {
            if self[index...].hasPrefix(mark) { return self.index(index, offsetBy: mark.count) }
            index = self.index(after: index)
        }
        return nil
    }
}
