// SPDX-License-Identifier: Apache-2.0

package import Names

/// A cookie that the program adds to one request: a name and a value, without storing it.
package struct CookiePair: Hashable, Sendable {
    /// The name. Empty for a nameless cookie.
    package let name: String
    package let value: String

    /// Makes a pair. Nil if it cannot occur in a Cookie header field: control characters, `;`, `=` in the name, spaces at the
    /// ends, or both parts empty.
    package init?(_ name: String, _ value: String) {
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

    /// The pairs of a Cookie header field, such as `a=1; b=2`. Invalid pairs are ignored.
    package static func pairs(of header: String) -> [CookiePair] {
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
    /// The Cookie header field of a request that also carries the program's own cookies.
    ///
    /// The program's cookies come last, in their order. They replace cookies of the jar with the same names.
    ///
    /// - Returns: The value of the field. Nil if no cookie goes with the request.
    package func header(
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
