// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The files of blocked and rewritten names, read again when they change.
typealias ListFiles = ReloadedFiles<NameRules?>

extension ReloadedFiles where Content == NameRules? {
    /// - Throws: ``ServerError`` with code `badList` for a file that cannot be read, a list for other programs, and too
    ///   many names.
    convenience init(
        _ paths: [String],
        blockedAnswer: DNSServerConfiguration.BlockedAnswer,
        maxNames: Int = HostsTable.maxNames
    ) throws(ServerError) {
        try self.init(paths, retries: false) { () throws(ServerError) in
            try NameRules(files: paths, blockedAnswer: blockedAnswer, maxNames: maxNames)
        }
    }

    /// Nil without files.
    var rules: NameRules? { content }
}

extension NameRules {
    /// The rules of all files; nil without files.
    fileprivate init?(
        files paths: [String],
        blockedAnswer: DNSServerConfiguration.BlockedAnswer,
        maxNames: Int
    ) throws(ServerError) {
        guard !paths.isEmpty else { return nil }
        self.init()
        self.blockedAnswer = blockedAnswer
        for path in paths {
            let text: String
            do throws(UnreadableFile) {
                text = String(decoding: try content(ofFileAt: path).get(), as: UTF8.self)
            } catch {
                throw ServerError(.badList, "the list \(path) \(error.reason)")
            }
            // Nothing would be blocked, although a list is given.
            guard add(parsing: text) || !text.octetLines.contains(where: { NameRules.isForeign($0) }) else {
                throw ServerError(
                    .badList,
                    "the list \(path) has none of the known lines, such as 0.0.0.0 ads.example or address=/ads.example/"
                )
            }
            // The table ignores further names.
            guard nameCount < maxNames else {
                throw ServerError(.badList, "the lists up to \(path) have \(maxNames) names or more")
            }
        }
    }
}
