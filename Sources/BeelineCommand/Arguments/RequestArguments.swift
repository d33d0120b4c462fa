// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the request: method, fields, body and authentication.
struct RequestArguments: FetchOptionGroup {
    var method: String?
    var headers: [String] = []
    /// The values of `-d` and its relatives, in the order given.
    var data: [DataPiece] = []
    /// The values of `-F` and `--form-string`, in the order given.
    var form: [FormArgument] = []
    /// The values of `-T`; one for each URL.
    var uploadFile: [String] = []
    var get = false
    var head = false
    var user: String?
    var basic = false
    var digest = false
    var anyauth = false
    var oauth2Bearer: String?
    var userAgent: String?
    var referer: String?
    var compressed = false

    static let options: [FetchOption] = [
        .text("request", "X", value: "method", help: "Use this request method") { $0.request.method = $1 },
        .text("header", "H", value: "line", help: "Send this header; \"Name:\" removes it, @file reads a file") {
            $0.request.headers.append($1)
        },
        .text("data", "d", value: "data", help: "POST form data; @file reads it without line breaks") {
            $0.request.data.append(DataPiece(.form, $1))
        },
        .text("data-ascii", value: "data", help: nil) { $0.request.data.append(DataPiece(.form, $1)) },
        .text("data-binary", value: "data", help: "POST data unchanged; @file reads it") {
            $0.request.data.append(DataPiece(.binary, $1))
        },
        .text("data-raw", value: "data", help: "POST data unchanged; @ has no special meaning") {
            $0.request.data.append(DataPiece(.raw, $1))
        },
        .text("data-urlencode", value: "data", help: "POST data percent-encoded: name=value, name@file") {
            $0.request.data.append(DataPiece(.urlEncoded, $1))
        },
        .text("json", value: "json", help: "POST JSON; @file reads it") {
            $0.request.data.append(DataPiece(.json, $1))
        },
        .text("form", "F", value: "part", help: "POST multipart/form-data: name=value, name=@file") {
            $0.request.form.append(FormArgument(text: $1, isLiteral: false))
        },
        .text("form-string", value: "part", help: "Like -F, but @ and < have no special meaning") {
            $0.request.form.append(FormArgument(text: $1, isLiteral: true))
        },
        .text("upload-file", "T", value: "src", help: "Upload this file with PUT; - is standard input") {
            $0.request.uploadFile.append($1)
        }.path(),
        .flag("get", "G", help: "Put the data of -d into the URL and use GET") { $0.request.get = $1 },
        .flag("head", "I", help: "Request the headers only and print them") { $0.request.head = $1 },
        .text("user", "u", value: "user:pass", help: "User and password; prompts for a missing password") {
            $0.request.user = $1
        },
        .flag("basic", help: "Use Basic authentication (default)") { $0.request.basic = $1 },
        .flag("digest", help: "Use Digest authentication") { $0.request.digest = $1 },
        .flag("anyauth", help: "Use the authentication method that the server asks for") { $0.request.anyauth = $1 },
        .text("oauth2-bearer", value: "token", help: "Send this bearer token") { $0.request.oauth2Bearer = $1 },
        .text("user-agent", "A", value: "name", help: "Send this User-Agent") { $0.request.userAgent = $1 },
        .text("referer", "e", value: "url", help: "Send this Referer") { $0.request.referer = $1 },
        .flag("compressed", help: "Request a compressed body and decompress it") { $0.request.compressed = $1 },
        .text("url", value: "url", help: "Fetch this URL; @file reads a URL a line") { $0.urls.append(.init($1)) },
    ]
}
