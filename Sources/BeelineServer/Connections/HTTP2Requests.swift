// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Passes the requests of an HTTP/2 connection to the service and sends the replies.
enum HTTP2Requests {
    /// Makes the handler of a connection.
    static func handler(
        _ service: ServerService,
        _ configuration: ServerConfiguration,
        ends: ConnectionEnds,
        on loop: any EventLoop
    ) -> HTTP2ServerHandler {
        HTTP2ServerHandler(configuration) { request, handler in
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
            return service.answer(question, isTooLarge: request.isTooLarge, trace: trace, on: loop) {
                [weak handler] reply in
                let body = hasContent ? reply.body : []
                handler?.reply(reply.status, fields: reply.fields(date: service.date), body: body, to: id)
            }
        }
    }
}
