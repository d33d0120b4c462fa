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
    package static func outgoing(
        _ jar: CookieJar?,
        url: HTTPURL,
        explicit: String?,
        context: CookieContext = CookieContext(),
        limits: CookieLimits = CookieLimits()
    ) -> (field: HTTPField?, names: [String]) {
        let explicit = Array((explicit ?? "").utf8)
        var octets: [UInt8]
        if explicit.isEmpty, limits.allowsAll {
            octets = jar?.headerOctets(for: url, context: context) ?? []
        } else {
            let own = Set(names(of: explicit[...]))
            // Those of the jar come first, as in curl.
            octets = limits.header(of: jar?.cookies(for: url, context: context).filter { !own.contains($0.name) } ?? [])
            if !octets.isEmpty, !explicit.isEmpty { octets += Cookie.separator }
            octets += explicit
        }
        guard !octets.isEmpty else { return (nil, []) }
        return (HTTPField(name: .cookie, lenientValue: octets), names(of: octets[...]))
    }

    /// Stores the cookies of a response for the URL of its hop.
    package static func incoming(
        _ jar: CookieJar?,
        url: HTTPURL,
        fields: HTTPFields,
        context: CookieContext = CookieContext(),
        limits: CookieLimits = CookieLimits()
    ) -> [ReceivedCookieOutcome] {
        guard let jar, fields.contains(.setCookie) else { return [] }
        var room = limits.keptCount
        return fields[fields: .setCookie].map { field in
            let octets = field.withUnsafeBytesOfValue { Array($0) }
            let outcome =
                room > 0 ? jar.store(octets: octets, from: url, context: context) : .rejected(.tooManyOfResponse)
            if case .rejected = outcome {} else { room -= 1 }
            return ReceivedCookieOutcome(name: name(of: octets), outcome: outcome)
        }
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
