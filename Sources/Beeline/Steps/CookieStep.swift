// SPDX-License-Identifier: Apache-2.0

package import CookieJar
package import HTTPTypes
package import Names

/// The outcome of a `Set-Cookie` field. It has the name of the cookie, never its value.
package struct ReceivedCookieOutcome: Hashable, Sendable {
    /// The name in the field, cut at 64 characters.
    package let name: String
    /// The decision of the jar about the cookie.
    package let outcome: CookieOutcome
}

/// Sends and keeps the cookies of a hop, both for the hop's own URL.
package enum CookieStep {
    /// Creates the Cookie field of a hop. Cookies of the request itself override those of the jar with the same name.
    ///
    /// - Parameter limit: the maximum size of the jar's cookies in the field, in bytes. From the first cookie that does not fit, the
    ///   jar's cookies are left out, as in curl.
    package static func outgoing(
        _ jar: CookieJar?,
        url: HTTPURL,
        explicit: String?,
        context: CookieContext = CookieContext(),
        limit: Int = .max
    ) -> (field: HTTPField?, names: [String]) {
        guard let explicit, !explicit.isEmpty else {
            guard let octets = jar?.headerOctets(for: url, context: context).map({ cut($0, at: limit) }),
                !octets.isEmpty
            else { return (nil, []) }
            return (HTTPField(name: .cookie, lenientValue: octets), names(of: octets[...]))
        }
        let own = Set(names(of: Array(explicit.utf8)[...]))
        let kept = (jar?.cookies(for: url, context: context) ?? []).filter { !own.contains($0.name) }
        // Those of the jar come first, as in curl.
        var octets: [UInt8] = []
        for cookie in kept {
            let pair = cookie.pairOctets + Array("; ".utf8)
            guard octets.count + pair.count <= limit else { break }
            octets += pair
        }
        octets += Array(explicit.utf8)
        return (HTTPField(name: .cookie, lenientValue: octets), names(of: octets[...]))
    }

    /// Stores the cookies of a response for the URL of its hop.
    package static func incoming(
        _ jar: CookieJar?,
        url: HTTPURL,
        fields: HTTPFields,
        context: CookieContext = CookieContext()
    ) -> [ReceivedCookieOutcome] {
        guard let jar, fields.contains(.setCookie) else { return [] }
        return fields[fields: .setCookie].map { field in
            let octets = field.withUnsafeBytesOfValue { Array($0) }
            return ReceivedCookieOutcome(
                name: name(of: octets),
                outcome: jar.store(octets: octets, from: url, context: context)
            )
        }
    }

    /// The cookies of a field that fit the limit, up to the first that does not. No value has a semicolon.
    private static func cut(_ header: [UInt8], at limit: Int) -> [UInt8] {
        guard header.count > limit else { return header }
        let end = header[..<(limit + 1)].lastIndex(of: UInt8(ascii: ";")) ?? 0
        return Array(header[..<end])
    }

    private static func names(of header: ArraySlice<UInt8>) -> [String] {
        header.split(separator: UInt8(ascii: ";")).map { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return String(String(decoding: name, as: UTF8.self).drop { $0 == " " })
        }
    }

    private static func name(of field: [UInt8]) -> String {
        let name = field.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
        return String(String(decoding: name, as: UTF8.self).drop { $0 == " " }.prefix(64))
    }
}
