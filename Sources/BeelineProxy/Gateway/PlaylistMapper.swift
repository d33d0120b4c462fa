// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Maps the links of documents that players follow, and nothing else in them.
struct PlaylistMapper: Sendable {
    /// The documents that are read.
    enum Kind: String, Sendable {
        /// An HLS playlist (RFC 8216).
        case hls
        /// A DASH manifest or a patch of one (ISO/IEC 23009-1).
        case dash
        /// What an interstitial of HLS shows, in JSON. Only the playlist says that a document is one.
        case assets
        /// Which pathway to take, in JSON. Only the playlist or manifest says that a document is one.
        case steering

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
        case .assets, .steering: text
        }
    }

    /// The bytes of a document with its links mapped. One that is not UTF-8 is read octet by octet: what it says beside its
    /// links stays as it is.
    func mapped(_ document: ByteBuffer, _ kind: Kind) -> ByteBuffer {
        let text = String(buffer: document)
        if text.utf8.elementsEqual(document.readableBytesView) { return ByteBuffer(string: mapped(text, kind)) }
        if let text = UTF16Text(document.readableBytesView) {
            return ByteBuffer(bytes: text.octets(of: mapped(text.text, kind)))
        }
        var octets = String()
        octets.unicodeScalars.append(contentsOf: document.readableBytesView.map { Unicode.Scalar($0) })
        return ByteBuffer(bytes: mapped(octets, kind).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
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
        let resolved = variables.resolved(link)
        let reference = resolved?[...] ?? link
        return links.mapped(reference, base: base) ?? links.mappedAboveRoot(reference, base: base) ?? resolved
    }

    /// A link of a tag to a document whose kind only the tag says.
    private func mappedDocument(_ link: Substring, _ kind: Kind, _ variables: inout PlaylistVariables) -> String? {
        let resolved = variables.resolved(link)
        return links.mapped(resolved?[...] ?? link, base: base, as: kind) ?? resolved
    }

    /// A tag's attributes whose names end in URI (RFC 8216 §4.2: quoted strings have no quotes in them), and variables that
    /// are the beginning of a link, which other playlists may import.
    private func mappedTag(_ line: Substring, _ variables: inout PlaylistVariables) -> String {
        let isDefinition = line.hasPrefix("#EXT-X-DEFINE:")
        let hasLink = line.contains("URI=\"") || line.contains("X-ASSET-LIST=\"")
        guard isDefinition || line.hasPrefix("#EXT") && hasLink else { return String(line) }
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
            let mapped: String? =
                if before.hasSuffix("X-ASSET-LIST=\"") {
                    mappedDocument(value, .assets, &variables)
                } else if before.hasSuffix("SERVER-URI=\"") {
                    mappedDocument(value, .steering, &variables)
                } else {
                    isLink ? mappedLink(value, &variables) : nil
                }
            result += mapped ?? String(value)
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
            result += Self.elements.contains(element) ? mappedContent(content, of: element) : String(content)
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
                result += isLink ? "<![CDATA[\(mappedContent(data, of: element))]]>" : String(markup)
                continue
            }
            let isElement = !markup.hasPrefix("<?") && !markup.hasPrefix("</")
            let name = Self.localName(markup)
            element = isElement && !markup.hasSuffix("/>") ? name : ""
            result += isElement ? mappedAttributes(markup, isClock: name == "UTCTiming") : String(markup)
        }
        return result + rest
    }

    private func mappedContent(_ content: Substring, of element: String) -> String {
        let leading = content.prefix { $0.isWhitespace }
        var link = content.dropFirst(leading.count)
        guard element == "ContentSteering", !link.isEmpty else {
            return links.mapped(link, base: base).map { leading + $0 } ?? String(content)
        }
        while link.last?.isWhitespace == true { link = link.dropLast() }
        return links.mapped(link, base: base, as: .steering) ?? String(content)
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
