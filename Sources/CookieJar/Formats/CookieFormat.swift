// SPDX-License-Identifier: Apache-2.0

public import Names

/// The formats that cookies are exchanged in.
public enum CookieFormat: String, Hashable, Sendable, CaseIterable {
    /// `cookies.txt`: ``NetscapeCookieFile``.
    case netscape
    /// `Set-Cookie` header lines, for instance of a saved response: ``SetCookieLines``.
    case headers
    /// JSON, and HTTP Archives to read: ``CookieJSON``.
    case json
    /// The `storageState` of Playwright, which is read as ``json``.
    case storageState = "storage-state"

    /// The format that a file seems to have: JSON where it begins with a bracket, header lines where one of the first lines
    /// is a Set-Cookie field or a status line, else Netscape's.
    public init(of octets: [UInt8]) {
        let octets = octets.withoutByteOrderMark
        let start = octets.first { !$0.isWhitespace && $0 != 0x0d && $0 != 0x0a }
        if start == UInt8(ascii: "{") || start == UInt8(ascii: "[") {
            self = .json
            return
        }
        var hasHeaders = false
        octets.prefix(16_384).forEachLine { line, number in
            guard number <= 20 else { return }
            hasHeaders =
                hasHeaders || line.startsCaseInsensitively(with: "set-cookie:")
                || line.startsCaseInsensitively(with: "http/")
        }
        self = hasHeaders ? .headers : .netscape
    }

    /// Reads a file. Parts that are not cookies are reported, and the rest is read.
    ///
    /// - Parameters:
    ///   - octets: The file's content; a byte order mark is skipped.
    ///   - url: Where header lines without a Domain attribute come from, if the file does not say it.
    ///   - now: The time of reading.
    public func read(_ octets: [UInt8], from url: HTTPURL? = nil, now: CookieTime) -> CookieImport {
        let octets = octets.withoutByteOrderMark
        return switch self {
        case .netscape: NetscapeCookieFile.read(Array(octets))
        case .headers: SetCookieLines.read(Array(octets), from: url, now: now)
        case .json, .storageState: CookieJSON.read(Array(octets), now: now)
        }
    }

    /// Writes a file. Each format's type says which cookies it cannot hold and leaves out.
    public func write(_ cookies: [Cookie]) -> [UInt8] {
        switch self {
        case .netscape: NetscapeCookieFile.write(cookies)
        case .headers: SetCookieLines.write(cookies)
        case .json: CookieJSON.write(cookies)
        case .storageState: CookieJSON.writeStorageState(cookies)
        }
    }
}

extension [UInt8] {
    /// The octets behind a byte order mark in UTF-8, which some editors put in front.
    fileprivate var withoutByteOrderMark: ArraySlice<UInt8> {
        starts(with: [0xef, 0xbb, 0xbf]) ? dropFirst(3) : self[...]
    }
}

extension ArraySlice<UInt8> {
    /// Calls `body` with each line, without its end (LF or CRLF), and its number from 1 on.
    func forEachLine(_ body: (_ line: ArraySlice<UInt8>, _ number: Int) -> Void) {
        var rest = self
        var number = 0
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0a) ?? rest.endIndex
            let line = rest[..<end]
            number += 1
            body(line.last == 0x0d ? line.dropLast() : line, number)
            rest = rest[end...].dropFirst()
        }
    }
}
