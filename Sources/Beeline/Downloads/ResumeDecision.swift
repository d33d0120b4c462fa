// SPDX-License-Identifier: Apache-2.0

/// What a download does with the response to a range request (RFC 9110 §14.4, §15.3.7, §15.5.17).
package enum ResumeDecision: Hashable, Sendable {
    /// The response has the rest: append it.
    case append
    /// The response has the whole resource: replace the file.
    case restart
    /// The file is already complete.
    case complete
    /// The response does not fit the partial file; the message has the reason.
    case mismatch(String)
    /// The status carries no data of the resource.
    case refused(status: Int)

    /// - Parameters:
    ///   - status: The status of the response.
    ///   - contentRange: The value of its `Content-Range`.
    ///   - offset: The offset of the first requested byte.
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
                        ? "the resource has only \(size) bytes, so it cannot be resumed at byte \(offset)"
                        : "the server refuses to resume at byte \(offset) of \(size)"
                )
        default: self = .refused(status: status)
        }
    }

    /// Whether the content of a response with this status is the whole resource. A 202 describes the processing instead, and
    /// 204 and 205 have no content (RFC 9110 §15.3.3, §15.3.5, §15.3.6).
    static func isWholeResource(_ status: Int) -> Bool {
        (200..<300).contains(status) && ![202, 204, 205, 206].contains(status)
    }

    /// The first position: 100 of `bytes 100-199/200`.
    package static func start(_ field: String) -> Int64? {
        guard field.lowercased().hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" })
    }

    /// The length of the range: 100 for `bytes 100-199/200`; `nil` if the field is not valid.
    static func length(_ field: String) -> Int64? {
        guard let start = start(field), let dash = field.firstIndex(of: "-") else { return nil }
        guard let end = Int64(field[field.index(after: dash)...].prefix { $0 != "/" }), end >= start, start >= 0 else {
            return nil
        }
        let (length, overflows) = (end - start).addingReportingOverflow(1)
        return overflows ? nil : length
    }

    /// The complete size: 200 of `bytes */200`.
    package static func size(_ field: String) -> Int64? {
        field.split(separator: "/").last.flatMap { Int64($0) }
    }

    /// Whether a `Content-Range` of a part is valid. A part with another one must not be joined to a file (RFC 9110 §14.4).
    static func isValid(_ field: String) -> Bool {
        guard let start = start(field), let length = length(field) else { return false }
        return field.hasSuffix("/*") || size(field).map { $0 > start + (length - 1) } ?? false
    }
}
