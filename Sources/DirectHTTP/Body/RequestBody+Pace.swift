// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension RequestBody {
    /// The same body, sent in small pieces.
    ///
    /// - Parameters:
    ///   - pieceSize: the largest size of a piece in bytes, at least 1. More than 16 KiB count as 16 KiB.
    ///   - start: called when an upload of the body begins, also when it is repeated. Its result is called after each
    ///     piece with the number of bytes sent in this upload. The next piece follows when that call returns.
    package func paced(
        inPiecesOf pieceSize: Int,
        _ start: @escaping @Sendable () -> @Sendable (_ sent: Int64) async throws -> Void
    ) -> RequestBody {
        guard !isNone else { return self }
        let limit = max(1, min(pieceSize, 16 * 1024))
        let source = StreamSource(
            isReplayable: isReplayable,
            bytes: bytesInMemory,
            measure: { () throws(DirectHTTPError) in try contentLength() }
        ) { send in
            let wait = start()
            var sent: Int64 = 0
            try await forEachPiece { piece in
                var rest = piece
                while let part = rest.readSlice(length: min(rest.readableBytes, limit)), part.readableBytes > 0 {
                    try await send(part)
                    sent += Int64(part.readableBytes)
                    try await wait(sent)
                }
            }
        }
        return with(.stream(source))
    }
}
