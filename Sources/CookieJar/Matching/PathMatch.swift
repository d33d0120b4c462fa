// SPDX-License-Identifier: Apache-2.0

import Names

/// Path matching (RFC 6265bis §5.1.4). Paths are compared octet by octet: `/a%62` is not `/ab`.
enum PathMatch {
    /// The path of a URL, without the query.
    static func path(of url: HTTPURL) -> [UInt8] { Array(url.target.utf8.prefix(url.pathCount)) }

    /// Whether a cookie with `cookiePath` matches a request for `requestPath`. Both start with a slash.
    static func matches(_ requestPath: [UInt8], cookiePath: ArraySlice<UInt8>) -> Bool {
        let count = cookiePath.count
        guard requestPath.count >= count, requestPath.prefix(count).elementsEqual(cookiePath) else { return false }
        return requestPath.count == count || cookiePath.last == .slash || requestPath[count] == .slash
    }

    /// The default-path of a cookie without a Path attribute.
    static func defaultPath(of url: HTTPURL) -> [UInt8] {
        let path = path(of: url)
        guard let last = path.lastIndex(of: .slash), last > 0 else { return [.slash] }
        return Array(path[..<last])
    }
}
