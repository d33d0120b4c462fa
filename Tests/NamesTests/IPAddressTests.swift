// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("IP addresses")
struct IPAddressTests {
    @Test(
        "an address is parsed, and printed in its canonical form (RFC 5952)",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::", "::"), ("::1", "::1"), ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("::ffff:192.0.2.1", "::ffff:c000:201"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("fe80::", "fe80::"),
        ]
    )
    func canonicalForm(text: String, expected: String) throws {
        #expect(IPAddress(text)?.description == expected)
        #expect(try IPAddress(parsing: text).description == expected)
    }

    @Test(
        "an invalid address is rejected",
        arguments: ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "g::1"]
    )
    func refused(text: String) {
        #expect(IPAddress(text) == nil)
        let error = #expect(throws: NameError.self) { try IPAddress(parsing: text) }
        #expect(error?.code == .malformedAddress)
    }
}
