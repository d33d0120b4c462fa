// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("Endpoints")
struct EndpointTests {
    @Test("an endpoint prints as the parsed text", arguments: ["192.0.2.1:443", "[2001:db8::1]:8443", "127.0.0.1:0"])
    func roundTrip(text: String) {
        #expect(Endpoint(text)?.description == text)
    }

    @Test(
        "an endpoint without a port gets the default port",
        arguments: [
            ("192.0.2.1", "192.0.2.1:53"), ("192.0.2.1:5353", "192.0.2.1:5353"), ("2001:db8::1", "[2001:db8::1]:53"),
            ("[2001:db8::1]", "[2001:db8::1]:53"), ("[2001:db8::1]:5353", "[2001:db8::1]:5353"),
        ]
    )
    func defaultPort(text: String, expected: String) throws {
        #expect(try Endpoint(parsing: text, defaultPort: 53).description == expected)
    }

    @Test(
        "an invalid endpoint is rejected, and the error quotes it",
        arguments: [
            ("", NameError.Code.malformedAddress), ("localhost:80", .malformedAddress), (":80", .malformedAddress),
            ("[192.0.2.1]:80", .malformedAddress), ("[::1", .malformedAddress), ("[::1]80", .malformedAddress),
            ("[]:80", .malformedAddress), ("[::1]]:80", .malformedAddress), ("::1:80:", .malformedAddress),
            ("192.0.2.1:", .malformedPort), ("192.0.2.1:65536", .malformedPort), ("192.0.2.1:+80", .malformedPort),
            ("192.0.2.1:8 0", .malformedPort), ("192.0.2.1:99999999999999999999", .malformedPort),
            ("[::1]:", .malformedPort), ("192.0.2.1\n:80", .malformedAddress),
        ]
    )
    func refused(text: String, code: NameError.Code) {
        let error = #expect(throws: NameError.self) { try Endpoint(parsing: text, defaultPort: 1) }
        #expect(error?.code == code)
        #expect(error?.message.contains("endpoint \"") == true)
    }

    @Test("an endpoint must have a port if there is no default")
    func portRequired() {
        #expect(Endpoint("192.0.2.1") == nil)
        #expect(Endpoint("2001:db8::1") == nil)
        #expect(throws: NameError.self) { try Endpoint(parsing: "[::1]", defaultPort: nil) }
    }
}
