// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

@Suite("Certificates of servers", .timeLimit(.minutes(1)))
struct CertificateTests {
    /// Waits until a server's new connections have a certificate of an authority.
    private static func presents(_ authority: TestAuthority, at endpoint: Endpoint) async throws {
        let tls = RawConnection.ClientTLS("dns.test", trusting: authority)
        let connection = try await eventualValue("the certificate", within: .seconds(30), every: .milliseconds(10)) {
            try? await RawConnection.connect(to: endpoint, tls: tls)
        }
        await connection.close()
    }

    /// The files of a certificate, and the next certificate for them.
    private struct FilePair {
        let folder = NSTemporaryDirectory() + "/beeline-certificate-\(UUID().uuidString)"
        let files: (chain: String, key: String)
        let certificate: ServerCertificate
        let next: TestCertificate

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let authority = try TestAuthority()
            files = try authority.certificate(for: "dns.test").write(to: folder)
            certificate = try ServerCertificate(.init(certificate: files.chain, key: files.key), protocols: [])
            next = try authority.certificate(for: "dns.test")
        }

        func remove() { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    @Test("a renewed certificate is used for new connections, and a broken one is reported once and not used")
    func renewal() async throws {
        let told = NIOLockedValueBox<[ServerError]>([])
        let lab = try await ServerLab {
            $0.zones = []
            $0.onReloadFailure = { error in told.withLockedValue { $0.append(error) } }
        }
        let running = Task { await lab.server.run() }
        try await Self.presents(lab.authority, at: lab.endpoint)
        let old = try await RawConnection.connect(
            to: lab.endpoint,
            tls: .init("dns.test", trusting: lab.authority)
        )
        let next = try TestAuthority()
        let key = try #require(lab.keyPath)
        _ = try next.certificate(for: "dns.test", "127.0.0.1").write(to: lab.folder)
        try await Self.presents(next, at: lab.endpoint)
        // An open connection goes on.
        try await old.send("GET /health HTTP/1.1\r\nHost: dns.test\r\n\r\n")
        #expect(try await old.receive(until: "\r\n") == Array("HTTP/1.1 200 OK\r\n".utf8))
        #expect(told.withLockedValue { $0.isEmpty })

        // A key that is not that of the certificate.
        try Self.write(try TestAuthority().certificate(for: "dns.test").keyPEM, to: key)
        try await eventually("the failure", within: .seconds(30), every: .milliseconds(10)) {
            !told.withLockedValue { $0.isEmpty }
        }
        try await Self.presents(next, at: lab.endpoint)
        _ = try lab.authority.certificate(for: "dns.test", "127.0.0.1").write(to: lab.folder)
        try await Self.presents(lab.authority, at: lab.endpoint)
        let errors = told.withLockedValue { $0 }
        #expect(errors.map(\.code) == [.badCertificate] && errors.allSatisfy { $0.message.contains(key) }, "\(errors)")
        #expect(errors.first?.message.contains("does not belong to the first certificate") == true)
        await old.close()
        running.cancel()
        await running.value
        await lab.stop()
    }

    @Test("a pair is not read between the writes of its two files")
    func halfWritten() throws {
        let pair = try FilePair()
        defer { pair.remove() }
        let (certificate, files, next) = (pair.certificate, pair.files, pair.next)
        let first = certificate.context
        try Self.write(next.chainPEM, to: files.chain)
        try certificate.reload()
        try Self.write(next.keyPEM, to: files.key)
        try certificate.reload()
        #expect(certificate.context === first)
        try certificate.reload()
        #expect(certificate.context !== first)
    }

    @Test("a file without a key is not called the key of another certificate")
    func fileWithoutAKey() throws {
        let pair = try FilePair()
        defer { pair.remove() }
        for text in ["", "no key\n", pair.next.chainPEM] {
            try Self.write(text, to: pair.files.key)
            let error = #expect(throws: ServerError.self) { try pair.certificate.read() }
            #expect(error?.code == .badCertificate && error?.message.contains("has no private key in PEM") == true)
        }
    }

    @Test("a certificate's file that cannot be read, and one without a certificate, are named with the reason")
    func unusableFile() throws {
        let pair = try FilePair()
        defer { pair.remove() }
        let path = pair.files.chain
        try Self.write("no certificate\n", to: path)
        let empty = #expect(throws: ServerError.self) { try pair.certificate.read() }
        #expect(empty?.code == .badCertificate && empty?.message == "\(path) has no certificate in PEM")
        try FileManager.default.removeItem(atPath: path)
        let missing = #expect(throws: ServerError.self) { try pair.certificate.read() }
        #expect(missing?.message == "\(path) cannot be read: No such file or directory")
    }

    @Test("a failure of the system is reported once, and a pair whose files stay the same is tried again")
    func passingFailure() throws {
        let pair = try FilePair()
        defer { pair.remove() }
        let (certificate, files, next) = (pair.certificate, pair.files, pair.next)
        let first = certificate.context
        // Writes the key with the same stamp each time.
        func writeKey(_ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: files.key))
            let time = Date(timeIntervalSince1970: 1_000_000)
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: files.key)
        }
        try Self.write(next.chainPEM, to: files.chain)
        try writeKey(String(repeating: "?", count: next.keyPEM.utf8.count))
        try certificate.reload()
        #expect(throws: ServerError.self) { try certificate.reload() }
        try certificate.reload()
        #expect(certificate.context === first)
        try writeKey(next.keyPEM)
        try certificate.reload()
        #expect(certificate.context !== first)
    }

    @Test("the DNS server uses a renewed certificate for new connections")
    func dns() async throws {
        let folder = NSTemporaryDirectory() + "/beeline-certificate-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (authority, next) = (try TestAuthority(), try TestAuthority())
        let files = try authority.certificate(for: "dns.test").write(to: folder)
        let resolver = Resolver(ResolverConfiguration(upstreams: [], system: nil))
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        configuration.listenTLS = [Endpoint(DNSLab.loopback, port: 0)]
        configuration.tls = .init(certificate: files.chain, key: files.key)
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoint = try #require(try await server.start().tls.first)
        let running = Task { await server.run() }
        try await Self.presents(authority, at: endpoint)
        _ = try next.certificate(for: "dns.test").write(to: folder)
        try await Self.presents(next, at: endpoint)
        running.cancel()
        await running.value
        await resolver.shutDown()
    }
}
