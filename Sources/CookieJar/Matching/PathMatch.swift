// SPDX-License-Identifier: Apache-2.0

/// Paths of cookies (RFC 6265bis §5.1.4). They are compared octet by octet: `/a%62` is not `/ab`.
enum PathMatch {
    /// Whether a request for `requestPath` gets a cookie of `cookiePath`.
    @inline(__always)
    static func matches(_ requestPath: Octets, cookiePath: Octets) -> Bool {
        guard requestPath.count >= cookiePath.count, requestPath.startsSame(as: cookiePath) else { return false }
        return requestPath.count == cookiePath.count
            || cookiePath.last == .slash
            || requestPath[cookiePath.count] == .slash
    }

    /// How much of `requestPath` is the default-path of a cookie without a Path attribute; 0: the path is `/`.
    static func defaultPathLength(_ requestPath: Octets) -> Int {
        guard requestPath.first == .slash else { return 0 }
        var end = requestPath.count - 1
        while requestPath[end] != .slash { end -= 1 }
        return end
    }
}
