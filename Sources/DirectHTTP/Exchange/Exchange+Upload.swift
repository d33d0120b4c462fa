// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Exchange {
    /// Starts the task that sends a body from a file or a stream. The exchange owns the task and cancels it when the exchange
    /// ends. A response that arrives before the whole body is sent is returned at once.
    func startUpload(on carrier: any ExchangeCarrier) {
        switch request.body.storage {
        case .none, .bytes: return
        case .file, .stream: own(upload: Task { await upload(on: carrier) })
        }
    }

    /// Sends the body piece by piece until it is complete or no longer wanted.
    func upload(on carrier: any ExchangeCarrier) async {
        let length: Int64? = if case .length(let length) = request.framing { length } else { nil }
        let report = request.body.report
        var sent: Int64 = 0
        var isWanted = true
        if let gate, await !gate.mayPass(within: request.continueLimit) { return }
        if length == 0 { carrier.finishSending(self) }
        do {
            try await request.body.forEachPiece { piece in
                if let length, piece.readableBytes > length - sent {
                    throw DirectHTTPError(.bodySourceFailed, "the body is longer than its declared \(length) bytes")
                }
                var rest = piece
                // Send a large piece in parts, so that each part the socket takes resets the idle timeout.
                while let part = rest.readSlice(length: min(rest.readableBytes, FileBody.pieceSize)),
                    part.readableBytes > 0
                {
                    sent += Int64(part.readableBytes)
                    report?(TransferProgress(transferred: sent, total: length))
                    let goesOn = await withUnsafeContinuation { waiter in
                        carrier.send(part, of: self) { waiter.resume(returning: $0) }
                    }
                    isWanted = goesOn
                    guard goesOn else { throw CancellationError() }
                    // The last byte ends the body, because its source may report its end later or never.
                    if sent == length { carrier.finishSending(self) }
                }
            }
            if let length, sent < length {
                throw DirectHTTPError(.bodySourceFailed, "the body ended after \(sent) of its declared \(length) bytes")
            }
            if length == nil { carrier.finishSending(self) }
        } catch {
            // A body that is no longer wanted is not an error of the exchange: the response may still reach the caller.
            guard isWanted else { return }
            if let error = error as? DirectHTTPError { return abandon(error) }
            abandon(DirectHTTPError(.bodySourceFailed, "the request's body failed: \(error)", underlyingError: error))
        }
    }
}
