// SPDX-License-Identifier: Apache-2.0

import NIOCore

// Bodies made from other bodies.
extension RequestBody {
    /// Several bodies, one after the other. At most one piece is in memory at a time.
    ///
    /// The length is known if all lengths are known. The body can be sent again if all parts can.
    ///
    /// - Parameter bodies: the parts, in order.
    public static func joined(_ bodies: [RequestBody]) -> RequestBody {
        let source = StreamSource(
            isReplayable: bodies.allSatisfy(\.isReplayable),
            measure: { () throws(DirectHTTPError) -> Int64? in
                var sum: Int64 = 0
                for body in bodies {
                    guard let length = try body.contentLength() else { return nil }
                    let (total, overflows) = sum.addingReportingOverflow(length)
                    guard !overflows else {
                        throw DirectHTTPError(.bodySourceFailed, "the lengths of the body's parts are too large")
                    }
                    sum = total
                }
                return sum
            },
            forEach: { take in
                for body in bodies { try await body.forEachPiece(take) }
            }
        )
        return RequestBody(storage: .stream(source))
    }

    /// The same body with progress reports: one for each piece that the connection takes.
    ///
    /// - Parameter report: called from any thread; it must not block. When the body is sent again, the count restarts at 0.
    public func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> RequestBody {
        var body = streamed
        body.report = report
        return body
    }

    /// The same body without a known length. HTTP/1.1 sends it chunked.
    package func withoutLength() -> RequestBody {
        guard !isNone else { return self }
        let source = StreamSource(isReplayable: isReplayable, bytes: bytesInMemory, measure: { nil }) {
            try await forEachPiece($0)
        }
        return with(.stream(source))
    }

    /// The body as a stream that is sent piece by piece. A body in memory is otherwise sent together with the head.
    var streamed: RequestBody {
        guard case .bytes(let bytes) = storage else { return self }
        let source = StreamSource(isReplayable: true, bytes: bytes, measure: { Int64(bytes.readableBytes) }) {
            try await forEachPiece($0)
        }
        return with(.stream(source))
    }

    func with(_ storage: Storage) -> RequestBody {
        RequestBody(storage: storage, contentType: contentType, report: report)
    }
}
