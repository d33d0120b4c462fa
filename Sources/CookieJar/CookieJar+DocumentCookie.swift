// SPDX-License-Identifier: Apache-2.0

public import Names

/// Cookies for web views that cannot be handed a cookie store.
extension CookieJar {
    /// A script that gives a page the cookies of the jar, to be run when the document begins to load. The first request
    /// needs ``header(for:context:now:)``, because the script comes after it.
    ///
    /// It has no HttpOnly cookies: no script may see them, and none can set them. Nor has it cookies that are not UTF-8 or
    /// are Partitioned, which `document.cookie` cannot write. It may be put into a page, between `<script>` tags too.
    ///
    /// - Parameter url: The URL of the page.
    /// - Parameter now: The time; default what the jar's clock says.
    public func documentCookieScript(for url: HTTPURL, now: CookieTime? = nil) -> String {
        var script = ""
        for cookie in cookies(for: url, context: CookieContext(api: .dom), now: now) where cookie.partition == nil {
            guard let field = String(validating: cookie.setCookieOctets, as: UTF8.self) else { continue }
            script += "document.cookie=\(Self.literal(field));\n"
        }
        return script
    }

    /// A JavaScript string literal that also stands safely in HTML.
    private static func literal(_ text: String) -> String {
        var literal = "\""
        for unit in text.utf16 {
            switch unit {
            // Letters, digits and what has no meaning in JavaScript or HTML. All else is an escape: quotes, `</script>`,
            // `<!--`, and the line separators U+2028 and U+2029, which end a literal in older engines.
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: literal.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            case let unit where unit < 0x7f && " !#$%()*+,-./:;=?@[]^_`{|}~".utf16.contains(unit):
                literal.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                literal += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return literal + "\""
    }
}
