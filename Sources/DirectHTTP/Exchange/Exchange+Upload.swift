// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Exchange {
    /// Starts the task that sends a body which is not in memory. The exchange owns it: an answer that comes before the
    /// body is sent is handed out at once, and whatever ends the exchange ends the task.
    func startUpload(on carrier: any ExchangeCarrier) {
        switch request.body.storage {
        case .none, .bytes: return
        case .file, .stream: own(upload: Task { await upload(on: carrier) })
        }
    }

    /// Sends the body piece by piece, until it is whole or not wanted any more.
    func upload(on carrier: any ExchangeCarrier) async {
        let length: Int64? = if case .length(let length) = request.framing { length } else { nil }
        let report = request.body.report
        var sent: Int64 = 0
        var isWanted = true
        if let gate, await !gate.mayPass(within: request.continueLimit) { return }
        do {
            try await request.body.forEachPiece { piece in
                if let length, piece.readableBytes > length - sent {
                    throw DirectHTTPError(.bodySourceFailed, "the body gives more than the \(length) bytes it said")
                }
                var rest = piece
                // A large piece leaves in parts: each that the socket has taken is a sign of life.
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
                }
            }
            if let length, sent < length {
                throw DirectHTTPError(.bodySourceFailed, "the body ended after \(sent) of the \(length) bytes it said")
            }
            carrier.finishSending(self)
        } catch {
            // A body that is not wanted any more is not the exchange's failure: its response may be on its way to the caller.
            guard isWanted else { return }
            if let error = error as? DirectHTTPError { return abandon(error) }
            abandon(DirectHTTPError(.bodySourceFailed, "the request's body failed: \(error)", underlyingError: error))
        }
    }
}
