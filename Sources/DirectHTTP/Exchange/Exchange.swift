// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore

/// One request and its response on one connection. It connects the event loop with the task that awaits the response.
///
/// The connection delivers everything that one read of the socket gave in one call. The caller is resumed at most once for the
/// head and once for each wait for the body. A small response costs one hop to the loop and one back.
final class Exchange: Sendable {
    typealias HeadResult = Result<Shared<ExchangeHead>, DirectHTTPError>
    typealias PieceResult = Result<ByteBuffer?, DirectHTTPError>

    struct ExchangeHead: Sendable {
        var response: HTTPResponse
        /// Whether the status line has the version HTTP/1.0.
        var isHTTP10 = false
        /// Whether the request was written in HTTP/1.0.
        var isRequestHTTP10 = false
        /// When the first byte of the response was read.
        var firstByte: NIODeadline
    }

    private struct State {
        var head: HeadResult?
        var headWaiter: UnsafeContinuation<HeadResult, Never>?
        var pieces = PieceQueue()
        var bufferedBytes = 0
        var end: Result<HTTPFields?, DirectHTTPError>?
        var pieceWaiter: UnsafeContinuation<PieceResult, Never>?
        /// Whether a reader got a piece of the body.
        var isBegun = false
        /// Whether a reader got the end of the body.
        var isRead = false
        /// Whether the connection stopped reading until `bufferedBytes` falls to half the limit.
        var isStalled = false
        var isAbandoned = false
        /// Whether the response is complete, and the exchange ends when the rest of the request is sent.
        var isOnlyUploading = false
        var carrier: (any ExchangeCarrier)?
        /// Whether the waiting caller runs on the event loop. It is then resumed directly and not through the ``WakeQueue``.
        var isCallerOnLoop = false
        var upload: Task<Void, Never>?
        var receivedBytes: Int64 = 0
        var ending: Ending?
        var observer: (@Sendable (Ending) -> Void)?

        /// The next piece, or a nil piece at the end; nil if nothing is buffered.
        mutating func take() -> PieceResult? {
            if let piece = pieces.popFirst() {
                isBegun = true
                bufferedBytes -= piece.readableBytes
                return .success(piece)
            }
            if case .success? = end { isRead = true }
            return end?.map { _ in nil }
        }
    }

    /// How and when an exchange ended.
    struct Ending: Sendable {
        let error: DirectHTTPError?
        let time: NIODeadline
        /// Bytes of the body as received, before decoding.
        let receivedBytes: Int64
    }

    let request: PreparedRequest
    let limits: ExchangeLimits
    /// Delays the body until the server asks for it; nil without `Expect: 100-continue`.
    let gate: ContinueGate?
    /// Guards everything that the loop and the caller share.
    private let state = NIOLockedValueBox(State())

    init(request: PreparedRequest, limits: ExchangeLimits) {
        self.request = request
        var limits = limits
        // A limit of zero would stop reading for ever after the first read.
        limits.bufferedBytes = max(1, limits.bufferedBytes)
        self.limits = limits
        gate = request.expectsContinue ? ContinueGate() : nil
    }

    // MARK: The caller's side

    /// Starts the exchange on a connection and waits for the head of the response.
    func head(on carrier: any ExchangeCarrier, now: NIODeadline) async -> HeadResult {
        let result = await waitCancellably { (waiter: UnsafeContinuation<HeadResult, Never>) in
            let early = state.withLockedValue { state -> HeadResult? in
                guard state.head == nil else { return state.head }
                // ``abandon(_:)`` is about to set the error, but does not know the carrier.
                guard !state.isAbandoned else { return .failure(cancellation) }
                state.headWaiter = waiter
                state.carrier = carrier
                state.isCallerOnLoop = carrier.isCallerOnLoop
                return nil
            }
            if case .failure(let error)? = early { fail(error) }
            // Also start an exchange that was already cancelled, because this returns its connection.
            carrier.start(self, now: now)
            if let early { return waiter.resume(returning: early) }
            startUpload(on: carrier)
        } onCancel: {
            cancel()
        }
        #if BEELINE_TSAN
        // The thread sanitizer does not see that this code runs after the call that resumed it. The lock shows it.
        state.withLockedValue { _ in }
        #endif
        return result
    }

    /// The next piece of the body as received, before decoding; nil at its end.
    func nextPiece() async throws(DirectHTTPError) -> ByteBuffer? {
        if let ready = takePiece() { return try ready.get() }
        let result = await waitCancellably { (waiter: UnsafeContinuation<PieceResult, Never>) in
            if let ready = takePiece(orWait: waiter) { waiter.resume(returning: ready) }
        } onCancel: {
            cancel()
        }
        #if BEELINE_TSAN
        // The thread sanitizer does not see that this code runs after the call that resumed it. The lock shows it.
        state.withLockedValue { _ in }
        #endif
        return try result.get()
    }

    /// Whether a reader got a piece of the body.
    var isBegun: Bool { state.withLockedValue { $0.isBegun } }

    /// Whether a reader got the end of the body.
    var isRead: Bool { state.withLockedValue { $0.isRead } }

    /// Treats the body as read to its end.
    func markRead() { state.withLockedValue { $0.isRead = true } }

    /// Whether the exchange has ended, with or without an error.
    var isOver: Bool { state.withLockedValue { $0.end != nil } }

    /// Whether the response is complete, and the exchange ends when the rest of the request is sent.
    var isOnlyUploading: Bool { state.withLockedValue { $0.isOnlyUploading } }

    /// How and when the exchange ended; nil before.
    var ending: Ending? { state.withLockedValue { $0.ending } }

    /// The number of bytes of the body received so far, before decoding.
    var receivedBytes: Int64 { state.withLockedValue { $0.ending?.receivedBytes ?? $0.receivedBytes } }

    /// The cancellation of the current task, or the cancellation or time limit that ended the exchange. Received bytes are then no
    /// longer wanted, while those before a broken connection are.
    var interruption: DirectHTTPError? {
        if Task.isCancelled { return cancellation }
        guard let error = ending?.error, error.code == .cancelled || error.code == .deadlineExceeded else { return nil }
        return error
    }

    /// Calls `observer` once when the exchange ends, or at once if it has ended. An exchange has at most one observer.
    func whenOver(_ observer: @escaping @Sendable (Ending) -> Void) {
        let ending = state.withLockedValue { state in
            if state.ending == nil { state.observer = observer }
            return state.ending
        }
        if let ending { observer(ending) }
    }

    /// The trailers; nil before the body is read to its end.
    var trailers: HTTPFields? {
        state.withLockedValue { state in
            if case .success(let trailers)? = state.end, state.pieces.isEmpty { trailers } else { nil }
        }
    }

    /// Cancels the exchange for the caller and frees its connection.
    func cancel() { abandon(cancellation) }

    private var cancellation: DirectHTTPError {
        DirectHTTPError(.cancelled, "the request to \(request.origin) was cancelled")
    }

    /// Ends the exchange with `error`, unless it has ended.
    func abandon(_ error: @autoclosure () -> DirectHTTPError) {
        let (isUnderWay, carrier) = state.withLockedValue { state -> (Bool, (any ExchangeCarrier)?) in
            guard state.end == nil, !state.isAbandoned else { return (false, nil) }
            state.isAbandoned = true
            return (true, state.carrier)
        }
        guard isUnderWay else { return }
        // Set the error before the socket closes, or the closing would become the error.
        fail(error())
        carrier?.abandon(self)
    }

    /// The next piece, or a nil piece at the end; nil if nothing is buffered, and `waiter` is resumed later.
    func takePiece(orWait waiter: UnsafeContinuation<PieceResult, Never>? = nil) -> PieceResult? {
        let (result, carrier) = state.withLockedValue { state -> (PieceResult?, (any ExchangeCarrier)?) in
            if let result = state.take() {
                guard state.isStalled, state.bufferedBytes <= limits.bufferedBytes / 2 else { return (result, nil) }
                state.isStalled = false
                return (result, state.carrier)
            }
            guard let waiter else { return (nil, nil) }
            guard state.pieceWaiter == nil else {
                return (.failure(DirectHTTPError(.invalidRequest, "another task is reading the body")), nil)
            }
            state.pieceWaiter = waiter
            state.isCallerOnLoop = state.carrier?.isCallerOnLoop ?? false
            return (nil, nil)
        }
        carrier?.resumeReading(self)
        return result
    }

    // MARK: The connection's side

    /// Stores the task that sends a streamed body. The task is cancelled when the exchange ends for any reason.
    func own(upload: Task<Void, Never>) {
        let isOver = state.withLockedValue { state in
            state.upload = upload
            return state.end != nil
        }
        if isOver { upload.cancel() }
    }

    /// Records that the response is complete, but not the request.
    func markOnlyUploading() { state.withLockedValue { $0.isOnlyUploading = true } }

    /// Takes the result of one read of the socket. Returns false if the connection must stop reading until the caller has taken
    /// pieces.
    ///
    /// - Parameter wakes: resumes the caller at the end of the loop's turn; nil: the caller is resumed at once.
    func deliver(
        head: Shared<ExchangeHead>?,
        pieces: some Collection<ByteBuffer>,
        end: Result<HTTPFields?, DirectHTTPError>?,
        now: NIODeadline,
        wakes: WakeQueue?
    ) -> Bool {
        var headWake: WakeQueue.Wake?
        var pieceWake: WakeQueue.Wake?
        var upload: Task<Void, Never>?
        var isLater = false
        var told: (observer: @Sendable (Ending) -> Void, of: Ending)?
        let wantsMore = state.withLockedValue { state -> Bool in
            guard state.end == nil else { return true }
            if let end, state.ending == nil {
                let error: DirectHTTPError? = if case .failure(let error) = end { error } else { nil }
                let bytes = pieces.reduce(state.receivedBytes) { $0 + Int64($1.readableBytes) }
                let ending = Ending(error: error, time: now, receivedBytes: bytes)
                state.ending = ending
                if let observer = state.observer.take() {
                    told = (observer, ending)
                    return true
                }
            }
            for piece in pieces {
                state.pieces.append(piece)
                state.bufferedBytes += piece.readableBytes
                state.receivedBytes += Int64(piece.readableBytes)
            }
            var headResult = head.map { HeadResult.success($0) }
            if let end {
                state.end = end
                upload = state.upload.take()
                state.carrier = nil
                if case .failure(let error) = end { headResult = headResult ?? .failure(error) }
            }
            if state.head == nil, let headResult {
                state.head = headResult
                headWake = state.headWaiter.take().map { .head($0, headResult) }
            }
            if let waiter = state.pieceWaiter, let piece = state.take() {
                state.pieceWaiter = nil
                pieceWake = .piece(waiter, piece)
            }
            isLater = !state.isCallerOnLoop
            state.isStalled = state.end == nil && state.bufferedBytes >= limits.bufferedBytes
            return !state.isStalled
        }
        if let told {
            // Call the observer first, so that the log, the metrics and the span are complete when the caller sees the end.
            told.observer(told.of)
            return deliver(head: head, pieces: pieces, end: end, now: now, wakes: wakes)
        }
        upload?.cancel()
        let queue = isLater ? wakes : nil
        if let headWake { Self.resume(headWake, by: queue) }
        if let pieceWake { Self.resume(pieceWake, by: queue) }
        return wantsMore
    }

    private static func resume(_ wake: WakeQueue.Wake, by queue: WakeQueue?) {
        if let queue { queue.append(wake) } else { wake.resume() }
    }

    /// Ends the exchange with an error, unless it has ended.
    func fail(_ error: DirectHTTPError) {
        _ = deliver(head: nil, pieces: EmptyCollection(), end: .failure(error), now: .now(), wakes: nil)
    }
}
