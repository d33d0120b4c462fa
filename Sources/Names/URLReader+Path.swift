// SPDX-License-Identifier: Apache-2.0

extension URLReader {
    /// Normalizes path and query. Also returns the length of the path in octets.
    ///
    /// - Parameters:
    ///   - path: The path as written; may be empty.
    ///   - query: The query as written, without its question mark. It follows the path in the text.
    func target(_ path: Bytes, _ query: Bytes?) -> (text: String, pathCount: Int) {
        let queryIsFinal = query.map { PercentEncoding.Allowed.queryOfURL.keepsAll(of: $0.rebased) }
        if queryIsFinal != false, isPlain(path) {
            let whole = text[path.startIndex..<(query ?? path).endIndex]
            return (String(decoding: whole, as: UTF8.self), path.count)
        }
        return joined(normalizedPath(path), query)
    }

    /// Appends an encoded query to a normalized path.
    func joined(_ path: String, _ query: Bytes?) -> (text: String, pathCount: Int) {
        (query.map { "\(path)?\(encoded($0, keeping: .queryOfURL))" } ?? path, path.utf8.count)
    }

    /// Removes dot segments from the path (RFC 3986 §5.2.4; `%2e` is a dot, WHATWG URL §4.1) and encodes it. Returns at least
    /// `/`.
    func normalizedPath(_ path: Bytes) -> String {
        guard !path.isEmpty else { return "/" }
        guard !isPlain(path) else { return String(decoding: path, as: UTF8.self) }
        var result: [UInt8] = []
        result.reserveCapacity(path.count + 16)
        var rest = path.first.map(isSlash) == true ? path.dropFirst() : path
        while true {
            let segment = rest.prefix { !isSlash($0) }
            let isLast = segment.endIndex == rest.endIndex
            switch keepsDots ? 0 : dots(segment) {
            case 1:
                if isLast { result.append(UInt8(ascii: "/")) }
            case 2:
                result.removeSubrange((result.lastIndex(of: UInt8(ascii: "/")) ?? result.startIndex)...)
                if isLast { result.append(UInt8(ascii: "/")) }
            default:
                result.append(UInt8(ascii: "/"))
                PercentEncoding.append(segment, keeping: .pathOfURL, to: &result)
            }
            if isLast { break }
            rest = rest[(segment.endIndex + 1)...]
        }
        return String(decoding: result, as: UTF8.self)
    }

    func encoded(_ part: Bytes, keeping allowed: PercentEncoding.Allowed) -> String {
        PercentEncoding.encode(part, keeping: allowed)
    }

    /// Whether a path is already normalized, as most are. Takes one pass; may return false for a normalized path.
    private func isPlain(_ path: Bytes) -> Bool {
        let allowed = PercentEncoding.Allowed.pathOfURL
        var previous: UInt8 = 0
        for byte in path {
            // A dot or a percent sign after a slash may start a dot segment.
            if previous == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return false }
            guard allowed.contains(byte), !isBackslash(byte) else { return false }
            previous = byte
        }
        return path.first == UInt8(ascii: "/")
    }

    /// 1 or 2 if the segment is that many dots, each written `.` or `%2e`; 0 for any other segment.
    private func dots(_ segment: Bytes) -> Int {
        var count = 0
        var rest = segment
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.popFirst() == UInt8(ascii: "2"), rest.popFirst().map({ $0 | 0x20 }) == UInt8(ascii: "e")
                else {
                    return 0
                }
            } else if byte != UInt8(ascii: ".") {
                return 0
            }
            count += 1
        }
        return count <= 2 ? count : 0
    }
}
