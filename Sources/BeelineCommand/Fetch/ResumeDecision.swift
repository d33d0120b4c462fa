// SPDX-License-Identifier: Apache-2.0

/// What a response means to a download that was to go on at a byte (RFC 9110 §14.4, §15.3.7, §15.5.17).
enum ResumeDecision: Hashable, Sendable {
    /// The rest comes: it is added to what is there.
    case append
    /// The whole comes again: what is there is replaced.
    case restart
    /// There is no rest.
    case complete
    case failed(CommandFailure)

    /// - Parameters:
    ///   - status: the response's status.
    ///   - contentRange: its Content-Range.
    ///   - offset: the byte that was asked for.
    init(status: Int, contentRange: String?, offset: Int64) {
        switch status {
        case 206:
            let start = contentRange.flatMap(Self.start)
            self =
                start == offset
                ? .append
                : .failed(
                    CommandFailure(
                        .rangeFailed,
                        "the server sends \(start.map { "byte \($0)" } ?? "an unknown range") instead of byte \(offset)"
                    )
                )
        case 200..<300: self = .restart
        case 416:
            guard let size = contentRange.flatMap(Self.size), size < offset else {
                self = .complete
                return
            }
            self = .failed(
                CommandFailure(.rangeFailed, "there are \(offset) bytes already, but the resource has only \(size)")
            )
        default:
            self = .failed(
                CommandFailure(.httpError, "the server answered \(status): what is there already was left as it is")
            )
        }
    }

    /// 100 of `bytes 100-199/200`.
    private static func start(_ field: String) -> Int64? {
        guard field.lowercased().hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" })
    }

    /// 200 of `bytes */200`.
    private static func size(_ field: String) -> Int64? {
        field.split(separator: "/").last.flatMap { Int64($0) }
    }
}
