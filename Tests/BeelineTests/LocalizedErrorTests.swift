// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import Testing

@Suite("Errors that apps show")
struct LocalizedErrorTests {
    @Test("localizedDescription is the error's message")
    func messages() throws {
        let name = #expect(throws: NameError.self) { try HTTPURL("a.test") }
        let upstream = #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: "nope") }
        let url = try #require(name)
        let spec = try #require(upstream)
        let rows: [(any Error, String)] = [
            (BeelineError(.idleTimeout, "the server was silent"), "the server was silent"),
            (DirectHTTPError(.idleTimeout, "the server was silent"), "the server was silent"),
            (url, url.message), (spec, spec.message),
        ]
        for (error, message) in rows { #expect(error.localizedDescription == message) }
    }
}
