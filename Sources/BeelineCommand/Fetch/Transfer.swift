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
    /// The options of the request that the command line decides.
    var options = RequestOptions()

    /// Returns the transfers of a command line, one for each URL.
    static func all(
        _ command: FetchArguments,
        draft: RequestDraft,
        login: LoginPlan,
        files: InputFiles
    ) throws(CommandFailure) -> [Transfer] {
        let resume = try resume(command.transfer.continueAt)
        guard resume == nil || command.transfer.range == nil else {
            throw CommandFailure(.usage, "-C and -r exclude each other")
        }
        let destinations = command.output.destinations
        let urls = try URLPlan(command, data: draft.query, files: files)
        var transfers: [Transfer] = []
        for (number, text) in command.urls.map(\.text).enumerated() {
            let upload = number < command.request.uploadFile.count ? command.request.uploadFile[number] : nil
            let url = try urls.url(text, upload: upload)
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
                    options: try draft.options(for: url, body: body, command, login: login, files: files)
                )
            )
        }
        return transfers
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
