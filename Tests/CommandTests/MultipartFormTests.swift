// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BeelineCommand

/// Forms are written as browsers and curl write them.
struct MultipartFormTests {
    private func form(_ arguments: (String, Bool)...) throws -> MultipartForm {
        let parts = arguments.map { FormArgument(text: $0.0, isLiteral: $0.1) }
        return try MultipartForm(parts, files: FetchPlanTests.files, boundary: "B")
    }

    /// The body as text, files as `{name}`.
    private func text(_ form: MultipartForm) -> String {
        form.segments.map { segment in
            switch segment {
            case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
            case .file(let path): "{\(path)}"
            case .descriptor: "{descriptor}"
            }
        }.joined()
    }

    @Test func partsFollowEachOther() throws {
        let form = try form(("a=b", false), ("f=@two", false))
        #expect(
            text(form) == """
                --B\r
                Content-Disposition: form-data; name="a"\r
                \r
                b\r
                --B\r
                Content-Disposition: form-data; name="f"; filename="two"\r
                Content-Type: application/octet-stream\r
                \r
                {two}\r
                --B--\r

                """
        )
        #expect(form.contentType == "multipart/form-data; boundary=B")
        #expect(form.length == Int64(text(form).utf8.count - "{two}".count + 5))
    }

    static let heads: [(argument: String, head: String)] = [
        ("f=@a.pem;type=text/x", "name=\"f\"; filename=\"a.pem\"\r\nContent-Type: text/x\r\n"),
        ("f=@a.pem;filename=x.png", "name=\"f\"; filename=\"x.png\"\r\nContent-Type: application/octet-stream\r\n"),
        ("f=@a.pem;filename=\"x;y.png\"", "name=\"f\"; filename=\"x;y.png\"\r\n"),
        ("f=@\"a.pem\"", "name=\"f\"; filename=\"a.pem\"\r\n"),
        ("a\"b\nc=1", "name=\"a%22b%0Ac\"\r\n"),
        ("a=1;type=text/plain", "name=\"a\"\r\nContent-Type: text/plain\r\n"),
    ]

    @Test(arguments: heads)
    func headsSayWhatAPartIs(_ row: (argument: String, head: String)) throws {
        #expect(try text(form((row.argument, false))).contains("form-data; " + row.head), "\(row.argument)")
    }

    @Test func aLiteralIsNothingElse() throws {
        #expect(try text(form(("a=@two;type=x", true))).contains("\r\n\r\n@two;type=x\r\n"))
    }

    @Test func boundariesDiffer() {
        let boundaries = Set((0..<100).map { _ in MultipartForm.randomBoundary() })
        #expect(boundaries.count == 100 && boundaries.allSatisfy { $0.count == 40 })
    }
}
