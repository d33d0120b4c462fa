// SPDX-License-Identifier: Apache-2.0

import Beeline

/// One URL of a fetch with its request and its output.
struct Transfer: Sendable {
    /// The destination of a response body.
    enum Output: Hashable, Sendable {
        /// Standard output. Binary data is not written to a terminal unless `-o -` is given.
        case standardOutput(isNamed: Bool)
        case file(String)
        /// `-O`: a file with the name of the URL, which `-J` may replace with that of the response.
        case remoteFile(String)
        /// `--out-null`.
        case nothing
    }

    /// The position at which a transfer resumes.
    enum Resume: Hashable, Sendable {
        case at(Int64)
        /// The end of the output file.
        case whereFileEnds
    }

    /// The index among the URLs of the command line, from 0. URLs of one pattern share it.
    var number: Int
    /// The index among all transfers of the command line, from 0.
    var id = 0
    /// The URL as given, with its patterns replaced.
    var text: String
    /// The URL, or the reason why it cannot be requested.
    var url: Result<HTTPURL, CommandFailure>
    var request: HTTPRequest
    var body: BodyPlan
    /// The file of `-T`.
    var upload: String?
    var output: Output
    var resume: Resume?
    /// The options of the request from the command line.
    var options = RequestOptions()

    init(
        number: Int,
        text: String,
        url: Result<HTTPURL, CommandFailure>,
        request: HTTPRequest,
        body: BodyPlan,
        output: Output
    ) {
        self.number = number
        self.text = text
        self.url = url
        self.request = request
        self.body = body
        self.output = output
    }

    /// The URL for messages and reports, without a user and a password.
    var shownURL: String { (try? url.get()).map { "\($0)" } ?? text.withoutLogin }
}
