// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOConcurrencyHelpers

/// Counts the bytes of one transfer in both directions, for the progress display and `-Y`.
final class TransferMeter: Sendable {
    private struct State {
        var received: Int64 = 0
        var display: ProgressDisplay?
    }

    /// Counts the sent bytes of the body.
    let upload = UploadMeter()
    private let board: ProgressBoard
    private let state = NIOLockedValueBox(State())
    /// Whether this transfer may have its own display.
    private let showsProgress: Bool
    private let body: BodyPlan

    init(_ board: ProgressBoard, transfer: Transfer, plan: FetchPlan) {
        self.board = board
        showsProgress = !plan.command.output.hidesMeter
        body = transfer.body
    }

    /// Starts the display of a body.
    ///
    /// - Parameters:
    ///   - path: the output file; nil for other outputs.
    ///   - offset: the number of bytes already in the file.
    func start(_ response: Response, path: String?, offset: Int64) {
        guard showsProgress else { return }
        let display = board.display(response, path: path, offset: offset)
        state.withLockedValue { $0.display = display }
    }

    /// Records the number of bytes of the body so far.
    func received(_ count: Int64) {
        let added = state.withLockedValue { state in
            defer { state.received = count }
            state.display?.show(count)
            return count - state.received
        }
        board.add(added)
    }

    /// Ends the display.
    func finish() {
        state.withLockedValue { state in
            state.display?.finish(state.received)
            state.display = nil
        }
        board.end()
    }

    /// The number of body bytes sent in the last request.
    func uploaded(of record: TransferRecord) -> Int64 {
        guard let first = record.hops.first, let last = record.hops.last else { return upload.count }
        // A redirect may remove the body.
        if last.framing != first.framing, [nil, "0"].contains(last.framing) { return 0 }
        if case .bytes = body { return body.size(.real) ?? 0 }
        return upload.count
    }

    /// Returns when the speed was below the limit for the limit's time, or when the task is cancelled.
    func waitUntilSlow(_ limit: FetchPlan.SpeedLimit) async {
        let transferred = { [self] in upload.count + state.withLockedValue { $0.received } }
        let step = Duration.seconds(1)
        var (last, slow) = (transferred(), Duration.zero)
        while slow < limit.time {
            do { try await Task.sleep(for: step) } catch { return }
            let now = transferred()
            slow = now - last < limit.speed ? slow + step : .zero
            last = now
        }
    }
}

extension Hop {
    /// The field that announces the request's body; nil without a body, and for an unknown length over HTTP/2.
    fileprivate var framing: String? {
        request.headerFields[.contentLength] ?? request.headerFields[.transferEncoding]
    }
}

/// Counts the body bytes passed to the connection. The count restarts when the body is sent again.
final class UploadMeter: Sendable {
    /// Guards the count.
    private let bytes = NIOLockedValueBox<Int64>(0)

    var count: Int64 { bytes.withLockedValue { $0 } }

    /// Returns the body with counting added.
    func counting(_ body: RequestBody) -> RequestBody {
        body.onProgress { [self] progress in bytes.withLockedValue { $0 = progress.transferred } }
    }
}
