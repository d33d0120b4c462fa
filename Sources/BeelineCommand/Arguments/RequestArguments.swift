// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the request: method, fields, body and authentication.
struct RequestArguments: ParsableArguments {
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("Use this request method", valueName: "method")
    )
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Send this header; \"Name:\" removes it, @file reads a file", valueName: "line")
    )
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")],
        help: ArgumentHelp("POST form data; @file reads it without line breaks", valueName: "data"),
        transform: { DataPiece(.form, $0) }
    )
    var data: [DataPiece] = []

    @Option(
        help: ArgumentHelp("POST data unchanged; @file reads it", valueName: "data"),
        transform: { DataPiece(.binary, $0) }
    )
    var dataBinary: [DataPiece] = []

    @Option(
        help: ArgumentHelp("POST data unchanged; @ has no special meaning", valueName: "data"),
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
        help: ArgumentHelp("Like -F, but @ and < have no special meaning", valueName: "part"),
        transform: { FormArgument(text: $0, isLiteral: true) }
    )
    var formString: [FormArgument] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        help: ArgumentHelp("Upload this file with PUT; - is standard input", valueName: "src")
    )
    var uploadFile: [String] = []

    @Flag(name: [.customShort("G"), .customLong("get")], help: "Put the data of -d into the URL and use GET")
    var get = false

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Request the headers only and print them")
    var head = false

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("User and password; prompts for a missing password", valueName: "user:pass")
    )
    var user: String?

    @Flag(help: "Use Basic authentication (default)")
    var basic = false

    @Flag(help: "Use Digest authentication")
    var digest = false

    @Flag(help: "Use the authentication method that the server asks for")
    var anyauth = false

    @Option(help: ArgumentHelp("Send this bearer token", valueName: "token"))
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
        help: ArgumentHelp("Request only these bytes, such as 0-499", valueName: "range")
    )
    var range: String?

    @Option(
        name: [.customShort("C"), .customLong("continue-at")],
        help: ArgumentHelp("Resume at this byte; - uses the size of the file", valueName: "at")
    )
    var continueAt: String?

    @Flag(help: "Request a compressed body and decompress it")
    var compressed = false
}
