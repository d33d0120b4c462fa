// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebDriver
import Crypto
import HTTPTypes
import Testing

extension BrowserTests {
    /// Bodies that are larger than all buffers on the way.
    @Suite
    struct BulkTests {
        @Test("a browser uploads and downloads 200 MiB through the proxy unchanged", arguments: [BrowserKind.chromium])
        func bulk(_ kind: BrowserKind) async throws {
            // 200 blocks of 1 MiB; each starts with its number.
            var block = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            var hasher = SHA256()
            let blocks = (0..<200).map { number in
                block[0] = UInt8(number)
                hasher.update(data: block)
                return block
            }
            let download = Reply(
                fields: [.contentType: "application/octet-stream"],
                body: blocks.map { .bytes($0) }
            )
            let expected = hasher.finalize().hex
            try await withBrowser(
                kind,
                protocols: ["http/1.1"],
                handler: { request in
                    request.path == "/bulk" ? download : try await BrowserSite.handler(request)
                }
            ) { lab in
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
