// SPDX-License-Identifier: Apache-2.0

/// What a response means to a download that was to go on at a byte (RFC 9110 §14.4, §15.3.7, §15.5.17).
package enum ResumeDecision: Hashable, Sendable {
    /// The rest comes: it is added to what is there.
    case append
    /// The whole comes again: what is there is replaced.
    case restart
    /// There is no rest.
    case complete
    /// What comes, or what is there, does not fit; the message says how.
    case mismatch(String)
    /// The status brings no part of it.
    case refused(status: Int)

    /// - Parameters:
    ///   - status: the response's status.
    ///   - contentRange: its Content-Range.
    ///   - offset: the byte that was asked for.
    package init(status: Int, contentRange: String?, offset: Int64) {
        switch status {
        case 206:
            let start = contentRange.flatMap(Self.start)
            self =
                start == offset
                ? .append
                : .mismatch(
                    "the server sends \(start.map { "byte \($0)" } ?? "an unknown range") instead of byte \(offset)"
                )
        case 200..<300: self = .restart
        case 416:
            let size = contentRange.flatMap(Self.size) ?? offset
            self =
                size == offset
                ? .complete
                : .mismatch(
                    size < offset
                        ? "there are \(offset) bytes already, but the resource has only \(size)"
                        : "the server refuses to go on at byte \(offset) of \(size)"
                )
        default: self = .refused(status: status)
        }
    }

    /// 100 of `bytes 100-199/200`.
    static func start(_ field: String) -> Int64? {
        guard field.lowercased().hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" })
    }

    /// 100 of `bytes 100-199/200`, as a length; nil where it is none.
    static func length(_ field: String) -> Int64? {
        guard let start = start(field), let dash = field.firstIndex(of: "-") else { return nil }
        guard let end = Int64(field[field.index(after: dash)...].prefix { $0 != "/" }), end >= start, start >= 0 else {
            return nil
        }
        let (length, overflows) = (end - start).addingReportingOverflow(1)
        return overflows ? nil : length
    }

    /// 200 of `bytes */200`.
    static func size(_ field: String) -> Int64? {
        field.split(separator: "/").last.flatMap { Int64($0) }
    }
}
