// SPDX-License-Identifier: Apache-2.0

import NIOCore

// Bodies made of bodies.
extension RequestBody {
    /// Several bodies, one behind the other. At no time does more than a piece of them stand in memory.
    ///
    /// Its length is known where all lengths are, and it can be sent again where all parts can.
    ///
    /// - Parameter bodies: the parts, in their order.
    public static func joined(_ bodies: [RequestBody]) -> RequestBody {
        let source = StreamSource(
            isReplayable: bodies.allSatisfy(\.isReplayable),
            measure: { () throws(DirectHTTPError) -> Int64? in
                var sum: Int64 = 0
                for body in bodies {
                    guard let length = try body.contentLength() else { return nil }
                    let (total, overflows) = sum.addingReportingOverflow(length)
                    guard !overflows else {
                        throw DirectHTTPError(.bodySourceFailed, "the lengths of the body's parts have no sum")
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

    /// The same body with its progress told: with each piece that the connection is given, from any thread.
    ///
    /// - Parameter report: hears it; it must not wait. A body that is sent again begins at 0 again.
    public func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> RequestBody {
        var body = streamed
        body.report = report
        return body
    }

    /// The same body without its length, which the server then learns at the end (chunked in HTTP/1.1).
    public func withoutLength() -> RequestBody {
        guard !isNone else { return self }
        let body = self
        let source = StreamSource(isReplayable: isReplayable, measure: { nil }) { try await body.forEachPiece($0) }
        return with(.stream(source))
    }

    /// The body as one that is sent piece by piece; what is in memory else leaves with the head.
    var streamed: RequestBody {
        guard case .bytes(let bytes) = storage else { return self }
        let body = self
        let source = StreamSource(isReplayable: true, measure: { Int64(bytes.readableBytes) }) {
            try await body.forEachPiece($0)
        }
        return with(.stream(source))
    }

    private func with(_ storage: Storage) -> RequestBody {
        RequestBody(storage: storage, contentType: contentType, report: report)
    }
}
