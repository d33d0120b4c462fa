// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension RequestBody {
    /// The same body, sent in pieces of at most 16 KiB.
    ///
    /// - Parameter start: called when an upload of the body begins, also when it is repeated. It returns a function
    ///   that is called after each piece with the number of bytes sent in this upload. The next piece follows when that
    ///   function returns.
    package func paced(
        _ start: @escaping @Sendable () -> @Sendable (_ sent: Int64) async throws -> Void
    ) -> RequestBody {
        guard !isNone else { return self }
        let body = self
        let source = StreamSource(
            isReplayable: isReplayable,
            measure: { () throws(DirectHTTPError) in try body.contentLength() }
        ) { send in
            let wait = start()
            var sent: Int64 = 0
            try await body.forEachPiece { piece in
                var rest = piece
                while let part = rest.readSlice(length: min(rest.readableBytes, 16 * 1024)), part.readableBytes > 0 {
                    try await send(part)
                    sent += Int64(part.readableBytes)
                    try await wait(sent)
                }
            }
        }
        return RequestBody(storage: .stream(source), contentType: contentType, report: report)
    }
}
