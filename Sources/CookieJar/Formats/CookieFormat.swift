// SPDX-License-Identifier: Apache-2.0

/// The formats that cookies are exchanged in.
public enum CookieFormat: String, Hashable, Sendable, CaseIterable {
    /// `cookies.txt`: ``NetscapeCookieFile``.
    case netscape
    /// `Set-Cookie` header lines: ``SetCookieLines``.
    case headers
    /// JSON, and HTTP Archives to read: ``CookieJSON``.
    case json

    /// The format that a file seems to have: JSON where it begins with a bracket, header lines where one of the first lines
    /// is a Set-Cookie field or a status line, else Netscape's.
    public init(of octets: [UInt8]) {
        let start = octets.first { ![0x20, 0x09, 0x0d, 0x0a].contains($0) }
        if start == UInt8(ascii: "{") || start == UInt8(ascii: "[") {
            self = .json
        } else {
            var hasHeaders = false
            octets.withUnsafeBufferPointer { octets in
                octets.forEachLine { line, number in
                    guard number <= 20 else { return }
                    hasHeaders =
                        hasHeaders || line.startsCaseInsensitively(with: "set-cookie:")
                        || line.startsCaseInsensitively(with: "http/")
                }
            }
            self = hasHeaders ? .headers : .netscape
        }
    }

    /// Reads a file. What is no cookie is reported, and the rest is read.
    public func read(_ octets: [UInt8], now: CookieTime) -> CookieImport {
        switch self {
        case .netscape: NetscapeCookieFile.read(octets)
        case .headers: SetCookieLines.read(octets, now: now)
        case .json: CookieJSON.read(octets, now: now)
        }
    }

    /// Writes a file.
    public func write(_ cookies: [Cookie]) -> [UInt8] {
        switch self {
        case .netscape: NetscapeCookieFile.write(cookies)
        case .headers: SetCookieLines.write(cookies)
        case .json: CookieJSON.write(cookies)
        }
    }
}
