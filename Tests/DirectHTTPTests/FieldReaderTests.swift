// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import Testing

@Suite("Tokens and quoted strings (RFC 9110 §5.6)")
struct FieldReaderTests {
    @Test(
        "a token or quoted string is read without its quotes and escapes",
        arguments: [
            ("a-b.c d", "a-b.c", " d"), ("\"a;b\", c", "a;b", ", c"), ("\"\"", "", ""),
            (#""a\"b\\" x"#, #"a"b\"#, " x"),
            ("", nil, ""), ("=a", nil, "=a"), ("\"a", nil, ""), (#""a\"#, nil, ""), ("é", nil, "é"),
        ] as [(String, String?, String)]
    )
    func words(text: String, word: String?, rest: String) {
        var reader = FieldReader(text)
        #expect(reader.tokenOrQuotedString() == word)
        #expect(String(decoding: reader.rest, as: UTF8.self) == rest)
    }

    @Test("octets between the words are skipped and taken")
    func separators() {
        var reader = FieldReader(", \ta=1")
        #expect(reader.skip(", \t") && !reader.skip(", \t") && !reader.take(UInt8(ascii: "=")))
        #expect(reader.token() == "a" && reader.take(UInt8(ascii: "=")) && reader.token() == "1" && reader.rest.isEmpty)
        #expect(reader.token() == nil && !reader.take(UInt8(ascii: "=")))
    }
}
