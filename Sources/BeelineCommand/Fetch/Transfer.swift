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
        /// `-O`: a file with the name of the URL, which `-J` may replace by that of the response.
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
    /// The URL as it was given, with its patterns replaced.
    var text: String
    /// The URL, or the reason why it cannot be requested.
    var url: Result<HTTPURL, CommandFailure>
    var request: HTTPRequest
    var body: BodyPlan
    /// The file of `-T`.
    var upload: String?
    var output: Output
    var resume: Resume?
    /// The credentials for the URL's origin; nil if there are none or a field carries them.
    var credentials: Credentials?

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

    /// Parses a URL as curl does: `http://` is the default scheme, `-G` appends the query, and `-T` appends the file's name to
    /// a path that ends in a slash.
    static func url(_ text: String, query: String?, upload: String?) throws(CommandFailure) -> HTTPURL {
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
}
