// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the form of the request: its target, its version, and `100 Continue`.
struct MessageOptions: FetchOptionGroup {
    enum Version: Hashable, Sendable {
        case negotiated
        case http10
        case http11
        case http2PriorKnowledge
    }

    var version = Version.negotiated
    var target: String?
    var keepsDots = false
    /// The values of `--url-query`.
    var query: [DataPiece] = []
    var escapesFormNames = false
    var expectTimeout: Double?

    static let options: [FetchOption] = [
        .flag("http1.0", "0", help: "Use HTTP/1.0") { $0.message.version = $1 ? .http10 : .negotiated },
        .flag("http1.1", help: "Use HTTP/1.1") { $0.message.version = $1 ? .http11 : .negotiated },
        .flag("http2", help: "Use HTTP/2 if the server supports it (default for https)") { arguments, _ in
            arguments.message.version = .negotiated
        },
        .flag("http2-prior-knowledge", help: "Use HTTP/2 without asking the server") {
            $0.message.version = $1 ? .http2PriorKnowledge : .negotiated
        },
        .text("request-target", value: "path", help: "Send this request target instead of the URL's path") {
            $0.message.target = $1
        },
        .flag("path-as-is", help: "Keep /../ and /./ in the URL's path") { $0.message.keepsDots = $1 },
        .text("url-query", value: "data", help: "Add this to the URL's query, encoded as by --data-urlencode") {
            $0.message.query.append(
                $1.hasPrefix("+") ? DataPiece(.raw, String($1.dropFirst())) : DataPiece(.urlEncoded, $1)
            )
        },
        .flag("form-escape", help: "Write names of -F with backslashes instead of percent signs") {
            $0.message.escapesFormNames = $1
        },
        .seconds("expect100-timeout", help: "Time to wait for 100 Continue, in seconds (default: 1)") {
            $0.message.expectTimeout = $1
        },
    ]
}
