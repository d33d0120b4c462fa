// SPDX-License-Identifier: Apache-2.0

import Beeline
import Testing

@testable import BeelineCommand

/// Forms are encoded as by browsers and curl.
struct FormPlanTests {
    private func form(_ arguments: (String, Bool)...) throws -> FormPlan {
        let parts = arguments.map { FormArgument(text: $0.0, isLiteral: $0.1) }
        return try FormPlan(parts, files: FetchPlanTests.files)
    }

    @Test func partsFollowEachOther() throws {
        let parts = try form(("a=b", false), ("f=@two", false), ("t=<two", false), ("p=@pipe", false)).parts
        #expect(parts.map(\.name) == ["a", "f", "t", "p"])
        #expect(parts.map(\.fileName) == [nil, "two", nil, "pipe"])
        #expect(parts.map(\.type) == [nil, "application/octet-stream", nil, "application/octet-stream"])
        let content: [FormPart.Content] = [
            .bytes(Array("b".utf8)), .file("two"), .bytes(Array("1\r\n2\n".utf8)), .bytes(Array("piped".utf8)),
        ]
        #expect(parts.map(\.content) == content)
    }

    static let rows: [(argument: String, name: String, fileName: String?, type: String?)] = [
        ("f=@a.pem;type=text/x", "f", "a.pem", "text/x"),
        ("f=@a.pem;filename=x.png", "f", "x.png", "image/png"),
        ("f=@a.pem;filename=\"x;y.png\"", "f", "x;y.png", "image/png"),
        ("a=1;filename=x.pdf", "a", "x.pdf", "application/pdf"),
        ("a=1;filename=x", "a", "x", nil),
        ("a=1; type=text/foo; charset=utf-8 ; filename=b", "a", "b", "text/foo; charset=utf-8"),
        ("f=@\"a.pem\"", "f", "a.pem", "application/octet-stream"),
        ("a=1;type=text/plain", "a", nil, "text/plain"),
        ("f=@a.pem;type=text/plain;charset=utf-8;filename=b", "f", "b", "text/plain;charset=utf-8"),
    ]

    @Test(arguments: rows)
    func attributesSayWhatAPartIs(_ row: (argument: String, name: String, fileName: String?, type: String?)) throws {
        let part = try form((row.argument, false)).parts[0]
        #expect(part.name == row.name && part.fileName == row.fileName && part.type == row.type, "\(row.argument)")
    }

    @Test(arguments: [
        ("q=name=\"Bob\"", "name=\"Bob\""), ("q=a\\b\"c", "a\\b\"c"), ("q=\"a;\\\"b\"", "a;\"b"),
        ("q=\"open", "\"open"),
    ])
    func quotesInsideAValueAreKept(_ argument: String, _ value: String) throws {
        #expect(try form((argument, false)).parts[0].content == .bytes(Array(value.utf8)))
    }

    /// As in curl, which gives a type only to files, and one by the name that `filename=` says.
    @Test func standardInputHasNoType() throws {
        let files = InputFiles(contents: { _ in [] }, size: { _ in nil }, askPassword: { _ in nil })
        let texts = ["f=@-", "g=@-;filename=a.txt"]
        let parts = try FormPlan(texts.map { FormArgument(text: $0, isLiteral: false) }, files: files).parts
        #expect(parts.map(\.fileName) == ["-", "a.txt"] && parts.map(\.type) == [nil, "text/plain"])
    }

    @Test func severalFilesAreANestedMultipart() throws {
        let part = try form(("f=@two,\"a.pem\";type=x/y;encoder=8bit,b.pem;headers=\"X-A: 1\"", false)).parts[0]
        guard case .group(let files) = part.content else {
            Issue.record("\(part.content)")
            return
        }
        #expect(part.name == "f" && files.map(\.content) == [.file("two"), .file("a.pem"), .file("b.pem")])
        #expect(files.map(\.type) == ["application/octet-stream", "x/y", "application/octet-stream"])
        #expect(files.map(\.encoding) == [nil, .eightBit, nil])
        #expect(files[2].fields.first?.value == "1" && files.allSatisfy { $0.name == nil })
    }

    @Test func parenthesesNestMultiparts() throws {
        let plan = try form(("a=(;type=multipart/alternative", false), ("=x", false), ("=)", false), ("b=y", false))
        #expect(plan.parts.map(\.name) == ["a", "b"] && plan.parts[0].type == "multipart/alternative")
        #expect(throws: CommandFailure.self) { try form(("=)", false)) }
    }

    @Test func headersOfAFileMayBeFolded() {
        #expect(FormHeaders.lines("# x\nA: 1\r\n  2\n\nB: 3 \n") == ["A: 1 2", "B: 3"])
    }

    @Test(arguments: ["f=@two;encoder=zip", "a=1;type=text", "a=1;headers=x", "a=1;headers=\"A: \u{1}\""])
    func malformedAttributesAreRefused(_ argument: String) {
        #expect(throws: CommandFailure.self) { try form((argument, false)) }
    }

    @Test func aLiteralIsNothingElse() throws {
        #expect(try form(("a=@two;type=x", true)).parts[0].content == .bytes(Array("@two;type=x".utf8)))
    }

    @Test func boundariesDiffer() {
        let boundaries = Set((0..<100).map { _ in MultipartForm().boundary })
        #expect(boundaries.count == 100 && boundaries.allSatisfy { $0.count == 46 })
    }
}
