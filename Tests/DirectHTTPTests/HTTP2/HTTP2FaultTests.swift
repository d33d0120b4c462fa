// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import Names
import Testing

@Suite("Faulty HTTP/2 servers end in a defined error and leave no socket", .timeLimit(.minutes(1)))
struct HTTP2FaultTests {
    @Test("a faulty HTTP/2 server ends with its error code", arguments: Fault.http2 + Fault.http2Floods)
    func fault(_ fault: Fault) async throws {
        let authority = try TestAuthority()
        let server = try await FaultServer.start([fault], authority: authority)
        let endpoint = try server.endpoint(of: fault.id)
        let engine = Engine()
        var tls = TLSSettings()
        tls.rootPEMs = [authority.rootPEM]
        var limits = TimeLimits()
        limits.idle = fault.outcome == .timeout ? .milliseconds(200) : .seconds(20)
        if fault.outcome == .timeout { limits.connect = .milliseconds(500) }
        let request = try PreparedRequest(.get, HTTPURL("https://\(FaultServer.name):\(endpoint.port)/"))
        var code: DirectHTTPError.Code?
        do {
            let response = try await engine.exchange(
                request,
                from: EndpointList([endpoint]),
                tls: tls,
                limits: limits
            )
            #expect(try await response.text() == "ok")
        } catch {
            code = (error as? DirectHTTPError)?.code
        }
        let expected: [DirectHTTPError.Code?] =
            switch fault.outcome {
            case .success: [nil]
            case .timeout: [.idleTimeout, .poolExhausted]
            case .malformed: [.malformedResponse]
            case .limit: [.malformedResponse, .responseTooLarge, .connectionLost, .streamReset]
            case .streamReset: [.streamReset]
            case .refusedStream, .truncated: [.connectionLost, .streamReset]
            default: [.connectionLost]
            }
        #expect(expected.contains(code), "\(fault.does): \(code?.description ?? "success")")
        await engine.shutDown()
        #expect(OpenDescriptors.sockets(connectedTo: [endpoint]) == 0)
        await server.stop()
    }
}
