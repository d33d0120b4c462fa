// SPDX-License-Identifier: Apache-2.0

extension PercentEncoding {
    /// A set of ASCII octets that are not encoded. All other octets become `%XX`.
    package struct Allowed: Hashable, Sendable {
        private let low: UInt64
        private let high: UInt64

        /// Letters, digits and `-._~` (RFC 3986 §2.3). Suitable for a value in any part of a URL: `/` and `%` are encoded.
        package static let unreserved = Allowed("-._~")
        /// The characters of a path (RFC 3986 §3.3), including `/` and `%`.
        package static let path = Allowed("-._~!$&'()*+,;=:@/%")
        /// The characters of a query (RFC 3986 §3.4), including `%`.
        package static let query = Allowed("-._~!$&'()*+,;=:@/?%")
        /// The characters of a fragment (RFC 3986 §3.5), including `%`.
        package static let fragment = query
        /// The characters of a user or a password (RFC 3986 §3.2.1), without `:` and `%`.
        package static let userInfo = Allowed("-._~!$&'()*+,;=")

        /// The characters of a path that browsers do not encode (the complement of WHATWG URL §1.3's path set).
        static let pathOfURL = Allowed("!$%&'()*+,-./:;=@[\\]_|~")
        /// The subset of ``pathOfURL`` without `.` and `%`, which may form a dot segment, and without the backslash.
        static let plainPath = Allowed("!$&'()*+,-/:;=@[]_|~")
        /// The characters of a query that browsers do not encode (the complement of the special-query set).
        static let queryOfURL = Allowed("!$%&()*+,-./:;=?@[\\]^_`{|}~")
        /// The characters of a fragment that browsers do not encode (the complement of the fragment set).
        static let fragmentOfURL = Allowed("!#$%&'()*+,-./:;=?@[\\]^_{|}~")

        /// Creates the set of letters, digits and `others`.
        package init(_ others: StaticString) {
            var low: UInt64 = 0
            var high: UInt64 = 0
            let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
            for octet in Array(letters.utf8) + Array(others.description.utf8) {
                if octet < 64 { low |= 1 << UInt64(octet) } else { high |= 1 << UInt64(octet - 64) }
            }
            self.low = low
            self.high = high
        }

        /// Whether the octet is not encoded.
        package func contains(_ octet: UInt8) -> Bool {
            // The masking shift uses the lowest six bits only.
            octet < 128 && (octet < 64 ? low : high) &>> UInt64(octet) & 1 == 1
        }

        /// The position of the first octet that is not in the set; the number of octets if all are.
        func firstOther(in octets: Octets) -> Int {
            var place = 0
            while place < octets.count {
                // Skip eight octets at a time while they are letters and digits, which every set contains.
                let end = min(place + 8, octets.count)
                if end == place + 8, Self.areAlphanumeric(octets, place) {
                    place = end
                    continue
                }
                while place < end {
                    guard contains(octets[place]) else { return place }
                    place += 1
                }
            }
            return place
        }

        /// Whether the set contains all octets.
        func keepsAll(of octets: Octets) -> Bool { firstOther(in: octets) == octets.count }

        /// Whether the eight octets from `place` are letters and digits.
        private static func areAlphanumeric(_ octets: Octets, _ place: Int) -> Bool {
            let eight = octets.eight(at: place)
            let (each, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
            guard eight & tops == 0 else { return false }
            // After adding 128 - n to an octet, its top bit is set if the octet was n or more.
            let lowered = eight | 0x20 &* each
            let letters = (lowered &+ (128 - 97) &* each) & ~(lowered &+ (128 - 123) &* each)
            let digits = (eight &+ (128 - 48) &* each) & ~(eight &+ (128 - 58) &* each)
            return (letters | digits) & tops == tops
        }
    }
}
