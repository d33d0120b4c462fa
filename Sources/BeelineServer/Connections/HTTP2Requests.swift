// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Passes the requests of an HTTP/2 connection to the service and sends the replies.
final class HTTP2Requests {
    private let service: ServerService
    private let ends: ConnectionEnds
    private let loop: any EventLoop
    /// The tasks that wait for upstreams, by stream.
    private var work: [UInt32: Task<Void, Never>] = [:]
    private weak var handler: HTTP2ServerHandler?

    private init(_ service: ServerService, ends: ConnectionEnds, loop: any EventLoop) {
        self.service = service
        self.ends = ends
        self.loop = loop
    }

    /// Makes the handler of a connection. The handler retains the `HTTP2Requests` instance.
    static func handler(
        _ service: ServerService,
        _ configuration: ServerConfiguration,
        ends: ConnectionEnds,
        on loop: any EventLoop
    ) -> HTTP2ServerHandler {
        let requests = HTTP2Requests(service, ends: ends, loop: loop)
        let handler = HTTP2ServerHandler(
            configuration,
            onRequest: { requests.answer($0) },
            onCancel: { requests.work.removeValue(forKey: $0)?.cancel() }
        )
        requests.handler = handler
        return handler
    }

    private func answer(_ request: HTTP2ServerHandler.Request) {
        let id = request.stream
        let hasContent = request.method != "HEAD"
        let question = ServerRequest(
            ServerRequest.Method(request.method),
            target: request.target,
            contentType: request.contentType,
            body: request.body,
            client: ends.client(request.forwardedFor),
            local: ends.local
        )
        let trace = service.tracing.map { _ in TraceFields(parent: request.traceParent, state: request.traceState) }
        let task = service.answer(question, isTooLarge: request.isTooLarge, trace: trace, on: loop) { [self] reply in
            work[id] = nil
            let body = hasContent ? reply.body : []
            handler?.reply(reply.status, fields: reply.fields(date: service.date), body: body, to: id)
        }
        if let task { work[id] = task }
    }
}
