// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The files of blocked and rewritten names, read again when they change.
typealias ListFiles = ReloadedFiles<NameRules?>

extension ReloadedFiles where Content == NameRules? {
    /// - Throws: ``ServerError`` with code `badList` for a file that cannot be read, and for too many names.
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
            do throws(UnreadableFile) {
                add(parsing: String(decoding: try content(ofFileAt: path).get(), as: UTF8.self))
            } catch {
                throw ServerError(.badList, "the list \(path) \(error.reason)")
            }
            // The table ignores further names.
            guard nameCount < maxNames else {
                throw ServerError(.badList, "the lists up to \(path) have \(maxNames) names or more")
            }
        }
    }
}
