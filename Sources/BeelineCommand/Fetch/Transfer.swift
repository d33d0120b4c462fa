// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

/// One URL of a fetch with its request and its output.
struct Transfer: Sendable {
    /// The destination of a response body.
    enum Output: Hashable, Sendable {
        /// Standard output. Binary data is not written to a terminal unless `-o -` is given.
        case standardOutput(isNamed: Bool)
        case file(String)
    }

    /// The position at which a download resumes.
    enum Resume: Hashable, Sendable {
        case at(Int64)
        /// The end of the output file.
        case whereFileEnds
    }

    /// The index among the URLs, from 0.
    var number: Int
    /// The URL of the command line, without user and password.
    var url: HTTPURL
    var request: HTTPRequest
    var body: BodyPlan
    var output: Output
    var resume: Resume?
    /// The credentials for the URL's origin; nil if there are none or a field carries them.
    var credentials: Credentials?

    /// Returns the transfers of a command line, one for each URL.
    static func all(
        _ command: FetchArguments,
        draft: RequestDraft,
        files: InputFiles
    ) throws(CommandFailure) -> [Transfer] {
        let resume = try resume(command.transfer.continueAt)
        guard resume == nil || command.transfer.range == nil else {
            throw CommandFailure(.usage, "-C and -r exclude each other")
        }
        let destinations = command.output.destinations
        var transfers: [Transfer] = []
        for (number, text) in command.urls.map(\.text).enumerated() {
            let upload = number < command.request.uploadFile.count ? command.request.uploadFile[number] : nil
            let url = try url(text, query: draft.query, upload: upload)
            let output: Output =
                switch number < destinations.count ? destinations[number] : nil {
                case nil, .standardOutput, .nothing: .standardOutput(isNamed: false)
                case .file("-"): .standardOutput(isNamed: true)
                case .remoteName: .file(try name(of: url))
                case .file(let name): .file(name)
                }
            let (request, body) = try draft.request(upload: upload)
            transfers.append(
                Transfer(
                    number: number,
                    url: url,
                    request: request,
                    body: body,
                    output: output,
                    resume: resume,
                    credentials: draft.credentials(for: url)
                )
            )
        }
        return transfers
    }

    /// Parses a URL as curl does: `http://` is the default scheme, `-G` appends the query, and `-T` appends the file's name to
    /// a path that ends in a slash.
    private static func url(_ text: String, query: String?, upload: String?) throws(CommandFailure) -> HTTPURL {
        var text = text.hasScheme ? text : "http://" + text
        if let query {
            let fragment = text.firstIndex(of: "#") ?? text.endIndex
            text = text[..<fragment] + (text[..<fragment].contains("?") ? "&" : "?") + query + text[fragment...]
        }
        do throws(NameError) {
            var url = try HTTPURL(text)
            guard url.origin.scheme == .http || url.origin.scheme == .https else {
                throw NameError(.unsupportedScheme, "\(url): only http and https are supported")
            }
            if let upload, upload != "-", upload != ".", url.path.hasSuffix("/") {
                let end = text.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
                let slash = text[..<end].hasSuffix("/") ? "" : "/"
                url = try HTTPURL(text[..<end] + slash + encodedName(upload) + text[end...])
            }
            return url
        } catch {
            throw CommandFailure(url: error)
        }
    }

    private static func encodedName(_ path: String) -> String {
        let name = path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
        return PercentEncoding.encode(name, keeping: .unreserved)
    }

    /// Returns the last path segment as it is in the URL, for `-O`.
    private static func name(of url: HTTPURL) throws(CommandFailure) -> String {
        let name = url.path[(url.path.lastIndex(of: "/").map(url.path.index(after:)) ?? url.path.startIndex)...]
        guard !name.isEmpty else {
            throw CommandFailure(.writeFailed, "\(url) has no file name for -O: use -o FILE")
        }
        return String(name)
    }

    private static func resume(_ text: String?) throws(CommandFailure) -> Resume? {
        guard let text else { return nil }
        if text == "-" { return .whereFileEnds }
        guard let offset = Int64(text), offset >= 0 else {
            throw CommandFailure(.usage, "-C \(text): write a byte offset, or -")
        }
        return .at(offset)
    }
}
