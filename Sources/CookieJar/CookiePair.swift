// SPDX-License-Identifier: Apache-2.0

public import Names

/// A cookie that a program sends with one request by its own wish: a name and a value, nothing stored.
public struct CookiePair: Hashable, Sendable {
    /// The name; empty for a nameless cookie.
    public let name: String
    /// The value.
    public let value: String

    /// A pair. What cannot stand in a Cookie header field is refused: control characters, `;`, and `=` in the name.
    public init?(_ name: String, _ value: String) {
        let isClean = { (text: String) in
            let octets = Array(text.utf8)
            return !octets.hasForbiddenControl && !octets.contains(.semicolon)
                && octets.trimmed(octets.indices) == octets.indices
        }
        guard isClean(name), isClean(value), !name.utf8.contains(.equals), !name.isEmpty || !value.isEmpty else {
            return nil
        }
        self.name = name
        self.value = value
    }

    /// The pairs of a Cookie header field, `a=1; b=2`, as a caller may write it. What is no pair is left out.
    public static func pairs(of header: String) -> [CookiePair] {
        header.split(separator: ";").compactMap { part in
            let part = Array(part.utf8)
            let equals = part.firstIndex(of: .equals)
            let text = { (range: Range<Int>) in String(decoding: part[part.trimmed(range)], as: UTF8.self) }
            return CookiePair(
                equals.map { text(0..<$0) } ?? "",
                text((equals.map { $0 + 1 } ?? 0)..<part.count)
            )
        }
    }
}

extension CookieJar {
    /// The Cookie header field of a request that also carries cookies of the program's own.
    ///
    /// The program's cookies come last, in their order, and the jar's of the same names stay behind.
    ///
    /// - Returns: The field's value; nil where no cookie goes with the request.
    public func header(
        for url: HTTPURL,
        joining pairs: [CookiePair],
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> String? {
        guard !pairs.isEmpty else { return header(for: url, context: context, now: now) }
        let names = Set(pairs.map(\.name))
        let own = cookies(for: url, context: context, now: now).filter { !names.contains($0.name) }
        let all =
            own.map { String(decoding: $0.pairOctets, as: UTF8.self) }
            + pairs.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }
        return all.joined(separator: "; ")
    }
}
