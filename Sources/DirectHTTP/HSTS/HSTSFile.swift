// SPDX-License-Identifier: Apache-2.0

import Names

/// The text format of curl's `--hsts`: a line for each host, such as `.example.com "20301231 23:59:59"`.
///
/// The date is in UTC, or `unlimited`. A dot before the host includes its subdomains. Lines that begin with `#` are comments.
public enum HSTSFile {
    /// The maximum length of a line in octets, as in curl. Longer lines are skipped.
    static let maxLineLength = 4095

    /// Reads a text.
    ///
    /// As in curl, if a host has several lines, the latest date counts, and one line with a dot is enough to include subdomains.
    ///
    /// - Returns: The entries in the order of their hosts' first lines, also expired ones; and the number of lines that are
    ///   neither entries nor comments.
    public static func read(_ text: String) -> (entries: [HSTSEntry], skipped: Int) {
        var entries: [HSTSEntry] = []
        var places: [String: Int] = [:]
        var skipped = 0
        for line in text.utf8.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            let line = Substring(line).drop { $0 == " " || $0 == "\t" }
            guard let first = line.utf8.first, first != UInt8(ascii: "#") else { continue }
            guard line.utf8.count <= maxLineLength, let entry = entry(line) else {
                skipped += 1
                continue
            }
            if let place = places[entry.host] {
                entries[place].expiresAt = max(entries[place].expiresAt, entry.expiresAt)
                entries[place].includesSubdomains = entries[place].includesSubdomains || entry.includesSubdomains
            } else {
                places[entry.host] = entries.count
                entries.append(entry)
            }
        }
        return (entries, skipped)
    }

    /// Writes entries, with a comment on the first line.
    public static func write(_ entries: [HSTSEntry]) -> String {
        var text = "# Hosts that require TLS (HSTS), in the format of libcurl.\n"
        for entry in entries {
            text += "\(entry.includesSubdomains ? "." : "")\(entry.host) \"\(date(entry.expiresAt))\"\n"
        }
        return text
    }

    private static func entry(_ line: Substring) -> HSTSEntry? {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        var value = parts[1]
        while value.last == " " || value.last == "\t" { value.removeLast() }
        guard value.count >= 2, value.first == "\"", value.last == "\"" else { return nil }
        let includesSubdomains = parts[0].first == "."
        guard let expiresAt = seconds(value.dropFirst().dropLast()),
            let host = try? Host(includesSubdomains ? parts[0].dropFirst() : parts[0])
        else { return nil }
        return HSTSEntry(host: host, includesSubdomains: includesSubdomains, expiresAt: expiresAt)
    }

    // MARK: Dates

    private static let unlimited = "unlimited"

    /// Reads `YYYYMMDD HH:MM:SS`; nil for any other text.
    private static func seconds(_ text: Substring) -> Int64? {
        if text == unlimited { return .max }
        let octets = Array(text.utf8)
        guard octets.count == 17, octets[8] == UInt8(ascii: " "), octets[11] == UInt8(ascii: ":"),
            octets[14] == UInt8(ascii: ":")
        else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            guard octets[range].allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            return octets[range].reduce(0) { $0 * 10 + Int($1 & 0x0f) }
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
            let minute = number(12..<14), let second = number(15..<17), year >= 1970, (1...12).contains(month),
            (1...Calendar.days(in: month, of: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = Calendar.daysSince1970(year: year, month: month, day: day)
        return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    /// Formats a time of the years 1970 to 9999; a later one is `unlimited`.
    private static func date(_ seconds: Int64) -> String {
        let end = Int64(Calendar.daysSince1970(year: 10_000, month: 1, day: 1)) * 86_400
        guard seconds < end else { return unlimited }
        let seconds = max(0, seconds)
        let date = Calendar.date(daysSince1970: Int(seconds / 86_400))
        let rest = Int(seconds % 86_400)
        func padded(_ number: Int, _ width: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        return padded(date.year, 4) + padded(date.month) + padded(date.day) + " "
            + [rest / 3600, rest / 60 % 60, rest % 60].map { padded($0) }.joined(separator: ":")
    }
}
