// SPDX-License-Identifier: Apache-2.0

import Names

/// Cookies as the header lines of responses, `Set-Cookie: name=value; Path=/`.
///
/// A line `# URL` says from which URL the lines below it come; without one, each comes from `https://` and its Domain
/// attribute. Other lines (the rest of a saved response) are passed over.
public enum SetCookieLines {
    private static let field: StaticString = "set-cookie:"

    /// Reads a file. Fields that RFC 6265bis rejects are reported, and the rest is read.
    public static func read(_ octets: [UInt8], now: CookieTime) -> CookieImport {
        var result = CookieImport()
        var url: HTTPURL?
        octets.withUnsafeBufferPointer { octets in
            octets.forEachLine { line, number in
                if line.first == 0x23 {
                    let text = line.part(line.trimmed(1..<line.count))
                    if let found = try? HTTPURL(String(decoding: text, as: UTF8.self)) { url = found }
                }
                guard line.startsCaseInsensitively(with: field) else { return }
                let value = line.part(line.trimmed(field.utf8CodeUnitCount..<line.count))
                guard let url = url ?? ownURL(of: value, now) else {
                    return result.skip(line: number, "neither a Domain attribute nor a line # URL says whose it is")
                }
                switch Cookie.read(value, from: url, context: CookieContext(), now: now) {
                case .success(var cookie):
                    cookie.created = .distantPast
                    result.add(cookie, line: number)
                case .failure(let reason): result.skip(line: number, reason.description)
                }
            }
        }
        return result
    }

    private static func ownURL(of field: Octets, _ now: CookieTime) -> HTTPURL? {
        guard
            let parsed = try? SetCookieParser(ageLimit: CookieJarConfiguration.defaultMaximumAge, now: now).parse(
                field
            ),
            !parsed.domain.isEmpty
        else { return nil }
        return try? HTTPURL("https://" + String(decoding: field[parsed.domain], as: UTF8.self) + "/")
    }

    /// Writes a file: the cookies of each host below its URL.
    public static func write(_ cookies: some Sequence<Cookie>) -> [UInt8] {
        var octets: [UInt8] = []
        var last = ""
        for cookie in cookies {
            if cookie.domain != last { octets += Array("# https://\(cookie.domain)/\n".utf8) }
            last = cookie.domain
            octets += Array("Set-Cookie: ".utf8) + cookie.setCookieOctets + [0x0a]
        }
        return octets
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Calls `body` with each line, without its end (LF or CRLF), and its number from 1 on.
    func forEachLine(_ body: (_ line: Octets, _ number: Int) -> Void) {
        var start = 0
        var number = 0
        while start < count {
            let end = first(0x0a, in: start..<count) ?? count
            number += 1
            body(part(start..<(end > start && self[end - 1] == 0x0d ? end - 1 : end)), number)
            start = end + 1
        }
    }
}
