// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import Testing

@Suite("Interceptors", .timeLimit(.minutes(1)))
struct InterceptorTests {
    /// Runs a closure.
    struct Block: Interceptor {
        let body: @Sendable (ClientRequest, InterceptorNext) async throws -> Response

        init(_ body: @escaping @Sendable (ClientRequest, InterceptorNext) async throws -> Response) { self.body = body }

        func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
            try await body(request, next)
        }
    }

    private static func lab(_ interceptors: any Interceptor...) async throws -> ClientLab {
        try await ClientLab(configure: { $0.interceptors = interceptors }) { request in
            request.path == "/go" ? .redirect(to: "/end") : .text("\(request.fields[.referer] ?? "-")|\(request.text)")
        }
    }

    @Test("interceptors run in order, once for each call, and see the original request and the final response")
    func order() async throws {
        let log = NIOLockedValueBox<[String]>([])
        func named(_ name: String) -> Block {
            Block { request, next in
                log.withLockedValue { $0.append("\(name) \(request.url.path) \(request.fields[.userAgent] ?? "none")") }
                var request = request
                request.fields[.referer] = (request.fields[.referer] ?? "") + name
                var response = try await next(request)
                log.withLockedValue { $0.append("\(name) \(response.status.code) \(response.hops.count)") }
                response.head.headerFields[.server] = (response.fields[.server] ?? "") + name
                return response
            }
        }
        let lab = try await Self.lab(named("A"), named("B"))
        let response = try await lab.client.get(lab.url("a.test", "/go"))
        #expect(response.fields[.server] == "BA")
        #expect(try await response.text() == "AB|")
        #expect(log.withLockedValue { $0 } == ["A /go none", "B /go none", "B 200 2", "A 200 2"])
        await lab.stop()
    }

    @Test("an interceptor can answer a request itself, and then nothing is sent")
    func answers() async throws {
        let lab = try await Self.lab(
            Block { request, _ in
                Response(
                    answering: request,
                    status: .ok,
                    fields: [.contentType: "x/y"],
                    body: ByteBuffer(string: "cached")
                )
            }
        )
        let response = try await lab.client.get(lab.url("a.test", "/x"))
        #expect(try await response.text() == "cached")
        #expect(response.url.description == lab.url("a.test", "/x") && response.hop.applicationProtocol == "none")
        #expect(response.timings.body == nil && response.trailers == nil && lab.site.requests.isEmpty)
        await lab.stop()
    }

    @Test("an interceptor can repeat a request, up to a limit")
    func bounded() async throws {
        let lab = try await Self.lab(
            Block { request, next in
                if request.url.path == "/ever" { while true { await (try next(request)).body.discard() } }
                _ = try await next(request).text()
                var request = request
                request.body = .bytes("second".utf8)
                request.method = .put
                return try await next(request)
            }
        )
        #expect(try await lab.client.get(lab.url("a.test")).text() == "-|second")
        let error = await #expect(throws: BeelineError.self) { try await lab.client.get(lab.url("a.test", "/ever")) }
        #expect(error?.code == .interceptorFailed)
        #expect(lab.site.requests.count == 2 + InterceptorNext.maxCalls)
        await lab.stop()
    }

    @Test("an interceptor's error reaches the caller with the right code")
    func errors() async throws {
        struct Odd: Error {}
        let lab = try await Self.lab(
            Block { request, _ in
                switch request.url.path {
                case "/odd": throw Odd()
                case "/cancelled": throw CancellationError()
                default: throw BeelineError(.malformedURL, "mine")
                }
            }
        )
        let cases: [(String, BeelineError.Code)] = [
            ("/odd", .interceptorFailed), ("/cancelled", .cancelled), ("/own", .malformedURL),
        ]
        for (path, code) in cases {
            let error = await #expect(throws: BeelineError.self) { try await lab.client.get(lab.url("a.test", path)) }
            #expect(error?.code == code)
            if path == "/odd" { #expect(error?.underlyingError is Odd) }
        }
        await lab.stop()
    }

    @Test("the deadline of a request applies to its interceptors")
    func deadline() async throws {
        let lab = try await Self.lab(
            Block { request, next in
                while true { await (try next(request)).body.discard() }
            }
        )
        var options = RequestOptions()
        options.limits = TimeLimits()
        options.limits?.total = .zero
        let error = await #expect(throws: BeelineError.self) {
            try await lab.client.get(lab.url("a.test"), options: options)
        }
        let late: [BeelineError.Code] = [.deadlineExceeded, .connectTimeout]
        #expect(error.map { late.contains($0.code) } == true)
        await lab.stop()
    }

    @Test("limits that an interceptor sets apply to the request")
    func ownLimits() async throws {
        let lab = try await Self.lab(
            Block { request, next in
                var request = request
                var limits = TimeLimits()
                limits.total = .zero
                request.options.limits = limits
                return try await next(request)
            }
        )
        let error = await #expect(throws: BeelineError.self) { try await lab.client.get(lab.url("a.test")) }
        #expect(error?.code == .deadlineExceeded || error?.code == .connectTimeout)
        #expect(lab.site.requests.isEmpty)
        await lab.stop()
    }
}
