// SPDX-License-Identifier: Apache-2.0

import Names

/// The names of output files: from `-o` with the choices of a URL's patterns, from the URL (`-O`), and from the response (`-J`).
enum OutputName {
    /// The file name for a URL without one, as in curl.
    static let fallback = "curl_response"

    /// Replaces `#1` and `#<name>` with the choices of the patterns. The text stays unchanged without patterns, and for
    /// numbers without a pattern.
    ///
    /// - Throws: ``CommandFailure`` with status `badArgument` if no pattern has the name.
    static func expand(_ name: String, _ choices: [URLPattern.Expansion]) throws(CommandFailure) -> String {
        let numbered = choices.first?.choices ?? []
        let named = choices.reduce(into: [:]) { $0.merge($1.named) { first, _ in first } }
        guard !numbered.isEmpty || !named.isEmpty else { return name }
        var result = String.UnicodeScalarView()
        // A combining character makes one Character with the `#` or the digit before it, so search scalars.
        var rest = name.unicodeScalars[...]
        while let hash = rest.firstIndex(of: "#") {
            result.append(contentsOf: rest[..<hash])
            let after = rest[rest.index(after: hash)...]
            let digits = after.prefix { ("0"..."9").contains($0) }
            if let number = Int(String(digits)), number > 0, number <= numbered.count {
                result.append(contentsOf: numbered[number - 1].unicodeScalars)
                rest = after[digits.endIndex...]
            } else if after.first == "<", let end = after.firstIndex(of: ">") {
                let key = String(after[after.index(after: after.startIndex)..<end])
                guard let choice = named[key] else {
                    throw CommandFailure(.badArgument, "-o \(name): no pattern of the URL has the name \(key)")
                }
                result.append(contentsOf: choice.unicodeScalars)
                rest = after[after.index(after: end)...]
            } else {
                result.append("#")
                rest = after
            }
        }
        result.append(contentsOf: rest)
        return String(result)
    }

    /// Returns the last non-empty segment of a URL's path, as typed: the request has `%E6%8A%A5` for `报`, the file has not.
    ///
    /// - Parameters:
    ///   - text: the URL as typed, with the choices of its patterns.
    ///   - url: the parsed URL, for a text that ends with `.` or `..`.
    static func remote(_ text: String, _ url: HTTPURL) -> String {
        let segments = text.unicodeScalars.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").map { String($0) }
        // As in curl, the slashes after the scheme may be one or three. Then comes the host.
        let hasScheme = ["http:", "https:"].contains(segments.first?.lowercased())
        let typed = segments.dropFirst(hasScheme ? 2 : 1).last ?? fallback
        guard typed == "." || typed == ".." else { return typed }
        let segment = url.path.split(separator: "/").last.map(String.init) ?? fallback
        return segment == "." || segment == ".." ? fallback : segment
    }

    /// Returns the file name from a response (`-J`): that of Content-Disposition, or else the last segment of the last
    /// redirect's Location. Nil if there is none.
    static func given(disposition: String?, location: String?) -> String? {
        if let name = disposition.flatMap(fileName).flatMap(safe) { return name }
        guard let location else { return nil }
        return safe(String(location.unicodeScalars.prefix { $0 != "?" && $0 != "#" }))
    }

    /// Returns the parameter `filename` of a Content-Disposition field (RFC 6266). Quotes are optional.
    private static func fileName(_ field: String) -> String? {
        var rest = field[...]
        while !rest.isEmpty {
            rest = rest.drop { !$0.isLetter }
            guard rest.prefix(9).lowercased() == "filename=" else {
                rest = rest.drop { $0 != ";" }
                continue
            }
            rest = rest.dropFirst("filename=".count).drop(while: \.isBlank)
            let quote: Character = rest.first == "\"" || rest.first == "'" ? rest.removeFirst() : ";"
            return String(rest.prefix { $0 != quote })
        }
        return nil
    }

    /// Returns the last part of a path that a server names, as a name that stays in its folder; nil for an empty name.
    ///
    /// A leading dot and control and format characters become `_`. A server therefore cannot hide a file, write a
    /// shell's configuration, or show another name than the file has (U+202E).
    private static func safe(_ path: String) -> String? {
        // A combining character makes one Character with the slash before it, so split by scalars.
        let last =
            path.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? [][...]
        var name = String.UnicodeScalarView()
        for scalar in last { name.append(isVisible(scalar) ? scalar : "_") }
        guard let first = name.first else { return nil }
        if first == "." { name.replaceSubrange(name.startIndex...name.startIndex, with: ["_"]) }
        return String(name)
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
