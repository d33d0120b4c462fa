// SPDX-License-Identifier: Apache-2.0

import Names

@testable import Beeline

extension Fuzzer {
    /// Decoders of the files that a user names.
    static let files: [Fuzzer] = [
        Fuzzer(
            "netrc",
            texts: [
                "machine a.test login me password \"p\\\"w\"\ndefault login x\n",
                "macdef init\ncd /\n\nmachine b.test\nlogin u\naccount c password d",
            ]
        ) { bytes in
            let netrc = try Netrc(parsing: String(decoding: bytes, as: UTF8.self))
            _ = netrc.credentials(for: try HTTPURL("http://a.test/"))
        }
    ]
}
