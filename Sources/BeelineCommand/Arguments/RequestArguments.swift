// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the request: method, fields, body and authentication.
struct RequestArguments: ParsableArguments {
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("Use this method", valueName: "method")
    )
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Send this header; \"Name:\" removes it, @file reads", valueName: "line")
    )
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")],
        help: ArgumentHelp("POST form data; @file reads it without line breaks", valueName: "data"),
        transform: { DataPiece(.form, $0) }
    )
    var data: [DataPiece] = []

    @Option(
        help: ArgumentHelp("POST data as it is; @file reads it", valueName: "data"),
        transform: { DataPiece(.binary, $0) }
    )
    var dataBinary: [DataPiece] = []

    @Option(
        help: ArgumentHelp("POST data as it is, @ has no meaning", valueName: "data"),
        transform: { DataPiece(.raw, $0) }
    )
    var dataRaw: [DataPiece] = []

    @Option(
        help: ArgumentHelp("POST data percent-encoded: name=value, name@file", valueName: "data"),
        transform: { DataPiece(.urlEncoded, $0) }
    )
    var dataUrlencode: [DataPiece] = []

    @Option(
        help: ArgumentHelp("POST JSON; @file reads it", valueName: "json"),
        transform: { DataPiece(.json, $0) }
    )
    var jsonData: [DataPiece] = []

    @Option(
        name: [.customShort("F"), .customLong("form")],
        help: ArgumentHelp("POST multipart/form-data: name=value, name=@file", valueName: "part"),
        transform: { FormArgument(text: $0, isLiteral: false) }
    )
    var form: [FormArgument] = []

    @Option(
        help: ArgumentHelp("As -F, @ and < have no meaning", valueName: "part"),
        transform: { FormArgument(text: $0, isLiteral: true) }
    )
    var formString: [FormArgument] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        help: ArgumentHelp("PUT this file; - is standard input", valueName: "src")
    )
    var uploadFile: [String] = []

    @Flag(name: [.customShort("G"), .customLong("get")], help: "Put the data of -d into the URL and GET")
    var get = false

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Ask for the head only, and print it")
    var head = false

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("Authenticate; asks for a missing password", valueName: "user:pass")
    )
    var user: String?

    @Flag(help: "Authenticate by Basic, as without this option")
    var basic = false

    @Flag(help: "Authenticate by Digest")
    var digest = false

    @Flag(help: "Authenticate in the way that the server asks for")
    var anyauth = false

    @Option(help: ArgumentHelp("Authenticate by this token", valueName: "token"))
    var oauth2Bearer: String?

    @Option(
        name: [.customShort("A"), .customLong("user-agent")],
        help: ArgumentHelp("Send this User-Agent", valueName: "name")
    )
    var userAgent: String?

    @Option(
        name: [.customShort("e"), .customLong("referer")],
        help: ArgumentHelp("Send this Referer", valueName: "url")
    )
    var referer: String?

    @Option(
        name: [.customShort("r"), .customLong("range")],
        help: ArgumentHelp("Ask for these bytes only, as 0-499", valueName: "range")
    )
    var range: String?

    @Option(
        name: [.customShort("C"), .customLong("continue-at")],
        help: ArgumentHelp("Resume at this byte; - finds it from the file", valueName: "at")
    )
    var continueAt: String?

    @Flag(help: "Ask for a compressed body, and decompress it")
    var compressed = false
}
