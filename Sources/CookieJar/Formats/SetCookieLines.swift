// SPDX-License-Identifier: Apache-2.0

package import Names

/// Cookies as header lines of responses, such as `Set-Cookie: name=value; Path=/`.
///
/// A line `# URL` sets the source URL of the following lines. Without it, the source is the URL that the caller passes, or else
/// `https://` and the Domain attribute of the line. `# URL partition=SITE` also sets the site of the following Partitioned
/// cookies. Netscape lines are read too, because curl reads both from one file. Other lines (the rest of a saved response) are
/// ignored.
package enum SetCookieLines {
    private static let field = "set-cookie:"

    /// Reads a file. Reports fields that RFC 6265bis rejects and reads the rest.
    ///
    /// - Parameters:
    ///   - octets: The content of the file.
    ///   - url: The source of the lines, until a line `# URL` sets another one.
    ///   - now: The time of reading.
    package static func read(_ octets: [UInt8], from url: HTTPURL? = nil, now: CookieTime) -> CookieImport {
        var result = CookieImport()
        var url = url
        var partition: Site?
        octets[...].forEachLine { line, number in
            if line.first == UInt8(ascii: "#") {
                let words = line.dropFirst().split(whereSeparator: \.isWhitespace)
                    .map { String(decoding: $0, as: UTF8.self) }
                if let first = words.first, let found = try? HTTPURL(first) {
                    url = found
                    let site = words.dropFirst().first.flatMap { $0.hasPrefix("partition=") ? $0.dropFirst(10) : nil }
                    partition = site.flatMap { Site($0) }
                }
            }
            guard line.startsCaseInsensitively(with: field) else {
                let isNetscape = line.count { $0 == .tab } >= 5
                if isNetscape { NetscapeCookieFile.read(line: line, number: number, into: &result) }
                return
            }
            let value = Array(line.dropFirst(field.utf8.count).drop(while: \.isWhitespace))
            guard let url = ownURL(of: value, unless: url, now: now) else {
                return result.skip(line: number, "neither a Domain attribute nor a line # URL names its host")
            }
            do throws(CookieRejection) {
                var cookie = try Cookie(setCookieOctets: value, from: url, now: now)
                cookie.created = .distantPast
                if cookie.partition != nil { cookie.partition = partition ?? cookie.partition }
                result.add(cookie, line: number)
            } catch {
                result.skip(line: number, error.description)
            }
        }
        return result
    }

    private static func ownURL(of field: [UInt8], unless known: HTTPURL?, now: CookieTime) -> HTTPURL? {
        if let known { return known }
        let parser = SetCookieParser(ageLimit: CookieJarConfiguration.defaultMaximumAge, now: now)
        guard let parsed = try? parser.parse(field), !parsed.domain.isEmpty else { return nil }
        return try? HTTPURL("https://" + String(decoding: field[parsed.domain], as: UTF8.self) + "/")
    }

    /// Writes a file that lists cookies below the URLs of their hosts. Omits cookies whose path is longer than readers accept.
    package static func write(_ cookies: some Sequence<Cookie>) -> [UInt8] {
        var octets: [UInt8] = []
        var last = ""
        for cookie in cookies where cookie.path.utf8.count <= Cookie.maxPathOctets {
            let source = "# https://\(cookie.domain)/" + (cookie.partition.map { " partition=\($0)" } ?? "")
            if source != last { octets += Array("\(source)\n".utf8) }
            last = source
            octets += Array("Set-Cookie: ".utf8) + cookie.setCookieOctets + [0x0a]
        }
        return octets
    }
}
