// SPDX-License-Identifier: Apache-2.0

extension PercentEncoding {
    /// Which ASCII octets stay as they are; all others become `%XX`.
    public struct Allowed: Hashable, Sendable {
        private let low: UInt64
        private let high: UInt64

        /// Letters, digits and `-._~` (RFC 3986 §2.3): for a value of any part, `/` and `%` encoded.
        public static let unreserved = Allowed("-._~")
        /// What a path keeps (RFC 3986 §3.3), `/` and `%` among it.
        public static let path = Allowed("-._~!$&'()*+,;=:@/%")
        /// What a query keeps (RFC 3986 §3.4).
        public static let query = Allowed("-._~!$&'()*+,;=:@/?%")
        /// What a fragment keeps (RFC 3986 §3.5).
        public static let fragment = query
        /// What a user or a password keeps (RFC 3986 §3.2.1), without the colon between them and without `%`.
        public static let userInfo = Allowed("-._~!$&'()*+,;=")

        /// What browsers send of a path as it is (the complement of WHATWG URL §1.3's path set).
        static let pathOfURL = Allowed("!$%&'()*+,-./:;=@[\\]_|~")
        /// Of that, what neither begins a dot segment nor is taken for a slash by anybody.
        static let plainPath = Allowed("!$&'()*+,-/:;=@[]_|~")
        /// What browsers send of a query as it is (the special-query set).
        static let queryOfURL = Allowed("!$%&()*+,-./:;=?@[\\]^_`{|}~")
        /// What browsers keep of a fragment as it is (the fragment set).
        static let fragmentOfURL = Allowed("!#$%&'()*+,-./:;=?@[\\]^_{|}~")

        /// Letters and digits, and these.
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

        /// Whether the octet stays as it is.
        public func contains(_ octet: UInt8) -> Bool {
            // A shift looks at the lowest six bits alone.
            octet < 128 && (octet < 64 ? low : high) &>> UInt64(octet) & 1 == 1
        }

        /// The place of the first octet that does not stay as it is; behind the last one where all do.
        func firstOther(in octets: Octets) -> Int {
            var place = 0
            while place < octets.count {
                // Eight at a time while they are letters and digits, which stay in all of these sets.
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

        /// Whether all of the octets stay as they are.
        func keepsAll(of octets: Octets) -> Bool { firstOther(in: octets) == octets.count }

        /// Whether the eight octets from `place` on are letters and digits.
        private static func areAlphanumeric(_ octets: Octets, _ place: Int) -> Bool {
            let eight = octets.eight(at: place)
            let (each, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
            guard eight & tops == 0 else { return false }
            // The top bit of an octet to which 128 - n was added says whether it was n or more.
            let lowered = eight | 0x20 &* each
            let letters = (lowered &+ (128 - 97) &* each) & ~(lowered &+ (128 - 123) &* each)
            let digits = (eight &+ (128 - 48) &* each) & ~(eight &+ (128 - 58) &* each)
            return (letters | digits) & tops == tops
        }
    }
}
