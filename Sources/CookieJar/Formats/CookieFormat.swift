// SPDX-License-Identifier: Apache-2.0

public import Names

/// The file formats for cookies.
public enum CookieFormat: String, Hashable, Sendable, CaseIterable {
    /// The `cookies.txt` format of browsers and curl. `#HttpOnly_` before the domain marks an HttpOnly cookie.
    case netscape
    /// `Set-Cookie` header lines, for example of a saved response. A line `# URL` names the source of the lines after
    /// it.
    case headers
    /// JSON. Also reads HTTP Archives.
    case json
    /// Playwright's `storageState`. Read in the same way as ``json``.
    case storageState = "storage-state"

    /// Detects the format of a file: JSON if it starts with a bracket, header lines if one of the first 20 lines is a Set-Cookie
    /// field or a status line, otherwise Netscape's format.
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

    /// Reads a file. Reports parts that are not cookies and reads the rest.
    ///
    /// - Parameters:
    ///   - octets: The content of the file. A byte order mark is skipped.
    ///   - url: The source of header lines without a Domain attribute, unless the file names one.
    ///   - now: The time of reading.
    public func read(_ octets: [UInt8], from url: HTTPURL? = nil, now: CookieTime) -> CookieImport {
        let octets = octets.withoutByteOrderMark
        return switch self {
        case .netscape: NetscapeCookieFile.read(Array(octets))
        case .headers: SetCookieLines.read(Array(octets), from: url, now: now)
        case .json, .storageState: CookieJSON.read(Array(octets), now: now)
        }
    }

    /// Writes a file. Omits cookies that the format cannot hold: with a tab in the name or path (`netscape`), with a
    /// path of more than 1,024 octets (`headers`), or not in UTF-8 (`storageState`).
    ///
    /// `netscape` also loses SameSite, Partitioned, and the times of creation and access. `json` keeps everything.
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
    /// The octets after a UTF-8 byte order mark, which some editors add.
    fileprivate var withoutByteOrderMark: ArraySlice<UInt8> {
        starts(with: [0xef, 0xbb, 0xbf]) ? dropFirst(3) : self[...]
    }
}

extension ArraySlice<UInt8> {
    /// Calls `body` with each line, without its line ending (LF or CRLF), and its number, starting with 1.
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
