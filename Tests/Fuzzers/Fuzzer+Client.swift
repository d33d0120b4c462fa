// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

@testable import Beeline

extension Fuzzer {
    /// Decoders of the header fields by which a server makes the client send another request.
    static let client: [Fuzzer] = [
        Fuzzer(
            "content-range",
            texts: [
                "bytes 100-199/200", "BYTES 100-149/*", "bytes */100",
                "bytes 100-9223372036854775807/9223372036854775807", "bytes 0-9223372036854775806/-9223372036854775808",
            ]
        ) { bytes in
            let field = String(decoding: bytes, as: UTF8.self)
            for status in [200, 206, 416] { _ = ResumeDecision(status: status, contentRange: field, offset: 100) }
            if ResumeDecision.isValid(field), let size = ResumeDecision.size(field) {
                guard let start = ResumeDecision.start(field), let length = ResumeDecision.length(field),
                    length > 0, length <= size - start
                else { violation("a valid range ends after its resource") }
            }
            var progress = DownloadProgress(offset: 100)
            progress.begin(at: 100)
            var part = HTTPResponse(status: .partialContent)
            part.headerFields[.contentRange] = field
            _ = progress.received(part, upTo: 150)
        },
        Fuzzer("retry-after", texts: ["120", "99999999999999999999", "Sun, 06 Nov 1994 08:49:47 GMT"]) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let rows: [HTTPFields] = [[.retryAfter: text], [.retryAfter: text, .date: text]]
            for fields in rows {
                if let wait = RetryAfter.wait(fields, now: 784_111_777), wait < .zero { violation("a negative wait") }
            }
        },
        Fuzzer(
            "redirect",
            texts: ["/end?a=b#c", "https://me:pw@b.test/", "//b.test:443", "\\\\b.test", "http://a.test@b.test/", "?é"]
        ) { bytes in
            let url = try HTTPURL("https://a.test/x")
            let fields: HTTPFields = [.authorization: "secret", .cookie: "secret"]
            let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil, headerFields: fields)
            let hop = HopRequest(
                ClientRequest(head, to: url, body: .none, options: RequestOptions()),
                configuration: ClientConfiguration(),
                hsts: nil,
                takesBody: true
            )
            var response = HTTPResponse(status: .found)
            response.headerFields.append(HTTPField(name: .location, lenientValue: bytes))
            guard let next = try Redirect.next(after: hop, response: response), next.url.origin != url.origin else {
                return
            }
            if next.fields[.authorization] != nil || next.explicitCookies != nil { violation("a secret leaks") }
        },
    ]
}
