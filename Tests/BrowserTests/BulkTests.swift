// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebDriver
import Crypto
import Testing

extension BrowserTests {
    /// Bodies that are too large to be lucky.
    @Suite
    struct BulkTests {
        /// A MiB 200 times, each with a number of its own at its beginning.
        private static func block(_ number: Int) -> [UInt8] {
            [UInt8(number)] + (1..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        }

        @Test("200 MiB go up and come down, and compare equal", arguments: [BrowserKind.chromium])
        func bulk(_ kind: BrowserKind) async throws {
            let blocks = (0..<200).map(Self.block)
            let download = Reply(
                fields: [.contentType: "application/octet-stream"],
                body: blocks.map { .bytes($0) }
            )
            let expected = SHA256.hash(data: Array(blocks.joined())).hex
            try await withBrowser(kind, handler: { request in
                request.path == "/bulk" ? download : try await BrowserSite.handler(request)
            }) { lab in
                try await lab.browser.navigate(to: lab.url("www.a.test", "/page"))
                let sums: [String] = try await lab.evaluate(
                    """
                    (async () => {
                        const bytes = await (await fetch("/bulk")).arrayBuffer();
                        const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
                        const hex = Array.from(hash, byte => byte.toString(16).padStart(2, "0")).join("");
                        const answer = await fetch("/upload", {method: "POST", body: bytes});
                        return [hex, await answer.text()];
                    })()
                    """
                )
                #expect(sums == [expected, expected])
                #expect(lab.site.requests.last?.bodySize == 200 << 20)
            }
        }
    }
}

extension Sequence<UInt8> {
    var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
