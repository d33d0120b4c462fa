// SPDX-License-Identifier: Apache-2.0

/// The formats that cookies are exchanged in.
public enum CookieFormat: String, Hashable, Sendable, CaseIterable {
    /// `cookies.txt`: ``NetscapeCookieFile``.
    case netscape
    /// `Set-Cookie` header lines: ``SetCookieLines``.
    case headers
    /// JSON: ``CookieJSON``.
    case json

    /// Reads a file. What is no cookie is reported, and the rest is read.
    public func read(_ octets: [UInt8], now: CookieTime) -> CookieImport {
        switch self {
        case .netscape: NetscapeCookieFile.read(octets)
        case .headers: SetCookieLines.read(octets, now: now)
        case .json: CookieJSON.read(octets)
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
