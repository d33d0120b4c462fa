// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineServer

/// The format of the lines of an access log.
enum AccessLogFormat: String, Sendable, CaseIterable, ExpressibleByArgument {
    /// `[DATE] CLIENT FORM ACCOUNT NAMES TYPES STATUS OUTCOME SOURCE OCTETS MICROSECONDS`; `-` for a missing value.
    case text
    /// One JSON object a line. The names of its members do not change within a major version.
    case json

    /// Formats a line, with its end.
    func line(_ record: AccessRecord) -> String {
        let microseconds = Int64(clamping: (record.time / .microseconds(1)).rounded(.down))
        switch self {
        case .text:
            let words = [
                "\(record.client)", record.form.rawValue, record.account ?? "", record.names, record.types,
                "\(record.status)", record.outcome, record.source, "\(record.octets)", "\(microseconds)",
            ]
            return "[\(CookieTime.now.httpDate)] \(words.map(Self.column).joined(separator: " "))\n"
        case .json:
            let names = record.names.split(separator: ",").map { JSONText.quoted(String($0)) }
            let types = record.types.split(separator: ",").map { JSONText.quoted(String($0)) }
            let members = [
                ("time", Self.time), ("client", "\"\(record.client)\""), ("form", "\"\(record.form.rawValue)\""),
                ("account", record.account.map(JSONText.quoted) ?? "null"),
                ("names", "[\(names.joined(separator: ","))]"), ("types", "[\(types.joined(separator: ","))]"),
                ("status", record.status == 0 ? "null" : "\(record.status)"),
                ("outcome", record.outcome == "-" ? "null" : JSONText.quoted(record.outcome)),
                ("source", record.source == "-" ? "null" : JSONText.quoted(record.source)),
                ("octets", "\(record.octets)"), ("microseconds", "\(microseconds)"),
            ]
            return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}\n"
        }
    }

    /// A text without white space and control characters, so that a client cannot add columns. `-` if nothing is left.
    private static func column(_ text: String) -> String {
        let words = text.unicodeScalars.split { scalar in
            scalar.properties.isWhitespace || scalar.properties.generalCategory == .control
        }
        return words.isEmpty ? "-" : words.map { String($0) }.joined(separator: "_")
    }

    /// The line that reports lost lines, with its end.
    func line(dropped: Int) -> String {
        switch self {
        case .text: "[\(CookieTime.now.httpDate)] \(dropped) lines were dropped\n"
        case .json: "{\"time\":\(Self.time),\"dropped\":\(dropped)}\n"
        }
    }

    /// The present time (RFC 3339), in quotation marks.
    private static var time: String { "\"\(WriteOutTime.now("%Y-%m-%dT%H:%M:%S.%fZ"))\"" }
}
