// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL
import Names
import Testing

@Suite("TLS: client certificates, pinned keys and versions", .timeLimit(.minutes(1)))
struct TLSTests {
    /// A server that requires a certificate issued by `clients`.
    private func start(_ authority: TestAuthority, clients: TestAuthority) async throws -> LoopbackOrigin {
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.clientAuthority = clients
        return try await LoopbackOrigin.start(tls: tls) { _ in .text("known") }
    }

    private func get(_ origin: LoopbackOrigin, tls: TLSSettings, engine: Engine) async throws -> String {
        let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(origin.port)/"))
        return try await engine.exchange(request, from: EndpointList(origin.endpoints), tls: tls).text()
    }

    private func settings(_ authority: TestAuthority) -> TLSSettings {
        var settings = TLSSettings()
        settings.trustsSystemRoots = false
        settings.rootPEMs = [authority.rootPEM]
        return settings
    }

    @Test("a client certificate from PEM, files or DER is sent to a server that requests it")
    func clientCertificate() async throws {
        let authority = try TestAuthority()
        let clients = try TestAuthority(name: "Clients")
        let origin = try await start(authority, clients: clients)
        let certificate = try clients.certificate(for: "client.test")
        let both = try TemporaryFile(bytes: Array((certificate.chainPEM + certificate.keyPEM).utf8))
        let der = try certificate.chain[0].toDERBytes()
        let identities = [
            ClientIdentity(chain: .pem(certificate.chainPEM), key: .pem(certificate.keyPEM)),
            ClientIdentity(chain: .pemFile(both.path), key: .pemFile(both.path)),
            ClientIdentity(chain: .der(der), key: .pem(certificate.keyPEM)),
        ]
        let engine = Engine()
        for identity in identities {
            var tls = settings(authority)
            tls.identity = identity
            #expect(try await get(origin, tls: tls, engine: engine) == "known")
        }
        #expect(origin.connections.accepted == 3, "the client's identity is part of the pool's key")
        let noCertificate = await #expect(throws: DirectHTTPError.self) {
            _ = try await get(origin, tls: settings(authority), engine: engine)
        }
        #expect(noCertificate?.code == .connectionLost || noCertificate?.code == .tlsFailed)
        var broken = settings(authority)
        broken.identity = ClientIdentity(chain: .pem("nothing"), key: .pem("nothing"))
        let unreadable = await #expect(throws: DirectHTTPError.self) {
            _ = try await get(origin, tls: broken, engine: engine)
        }
        #expect(unreadable?.code == .tlsFailed)
        #expect(unreadable?.message.contains("client certificate") == true)
        await engine.shutDown()
        await origin.stop()
    }

    @Test("a host that DNS cannot encode gets no SNI, and its certificate must have its name")
    func longName() async throws {
        let authority = try TestAuthority()
        let name = String(repeating: "a", count: 64) + ".test"
        let origin = try await LoopbackOrigin.start(
            tls: ServerTLS(try authority.certificate(for: "a.test", name))
        ) { .text($0.connection.serverName ?? "-") }
        let engine = Engine()
        let tls = settings(authority)
        for host in [name, name.uppercased()] {
            let request = try PreparedRequest(.get, HTTPURL("https://\(host):\(origin.port)/"))
            let response = try await engine.exchange(request, from: EndpointList(origin.endpoints), tls: tls)
            #expect(try await response.text() == "-")
        }
        let error = await #expect(throws: DirectHTTPError.self) {
            let request = try PreparedRequest(.get, HTTPURL("https://a\(name):\(origin.port)/"))
            _ = try await engine.exchange(request, from: EndpointList(origin.endpoints), tls: tls)
        }
        #expect(error?.code == .certificateRejected)
        await engine.shutDown()
        await origin.stop()
    }

    @Test("the pins of a domain also apply to a subdomain that DNS cannot encode")
    func pinOfLongName() async throws {
        let authority = try TestAuthority()
        let name = String(repeating: "a", count: 64) + ".test"
        let origin = try await LoopbackOrigin.start(tls: ServerTLS(try authority.certificate(for: name))) { _ in
            .text("ok")
        }
        let wrong = try #require(PublicKeyPin(hash: [UInt8](repeating: 7, count: 32)))
        var tls = settings(authority)
        tls.pins = [PinnedHost(try Host("test"), pins: [wrong])]
        let engine = Engine()
        for host in [name, name + "."] {
            let request = try PreparedRequest(.get, HTTPURL("https://\(host):\(origin.port)/"))
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await engine.exchange(request, from: EndpointList(origin.endpoints), tls: tls)
            }
            #expect(error?.code == .pinMismatch, "\(host)")
        }
        await engine.shutDown()
        await origin.stop()
    }

    @Test(
        "a pin whose Base64 begins with slashes is parsed",
        arguments: [0x00, 0xfb, 0xfc, 0xff] as [UInt8]
    )
    func slashesOfPins(octet: UInt8) throws {
        let pin = try #require(PublicKeyPin(hash: [UInt8](repeating: octet, count: 32)))
        let digits = pin.description.dropFirst(8)
        #expect(PublicKeyPin("sha256//\(digits)") == pin && PublicKeyPin("sha256/\(digits)") == pin)
        #expect(PublicKeyPin("sha256///\(digits)") == nil && PublicKeyPin("sha256/\(digits.dropFirst())") == nil)
    }

    @Test("a pinned key and a backup pin are accepted, and any other key is an error that contains it")
    func pins() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in .text("ok") }
        let certificate = try lab.authority.certificate(for: "a.test")
        let origin = try await LoopbackOrigin.start(tls: ServerTLS(certificate)) { _ in .text("pinned") }
        let right = try #require(PublicKeyPin(hash: certificate.publicKeyHash))
        let wrong = try #require(PublicKeyPin(hash: [UInt8](repeating: 7, count: 32)))
        #expect(PublicKeyPin("\(right)") == right)
        let rows: [(String, [PinnedHost], Bool)] = [
            ("its own key", [PinnedHost(try Host("a.test"), pins: [right])], true),
            ("a backup beside it", [PinnedHost(try Host("a.test"), pins: [wrong, right])], true),
            ("a key of the domain above", [PinnedHost(try Host("test"), pins: [right])], true),
            ("a pin of another host is ignored", [PinnedHost(try Host("b.test"), pins: [wrong])], true),
            (
                "a pin of the domain above without what is below",
                [
                    PinnedHost(try Host("test"), includesSubdomains: false, pins: [wrong])
                ], true
            ),
            ("another key", [PinnedHost(try Host("a.test"), pins: [wrong])], false),
            ("another key for every host", [PinnedHost(nil, pins: [wrong])], false),
            ("no key at all", [PinnedHost(nil, pins: [])], false),
        ]
        for (what, pins, passes) in rows {
            for verifies in [true, false] {
                var tls = lab.tls
                tls.pins = pins
                tls.verifiesCertificate = verifies
                if passes {
                    #expect(try await get(origin, tls: tls, engine: lab.engine) == "pinned", "\(what)")
                    continue
                }
                let before = origin.requests.count
                let error = await #expect(throws: DirectHTTPError.self, "\(what)") {
                    _ = try await get(origin, tls: tls, engine: lab.engine)
                }
                #expect(error?.code == .pinMismatch, "\(what)")
                #expect(error?.message.contains("\(right)") == true, "\(what)")
                #expect(origin.requests.count == before, "no request reaches a server with the wrong key")
            }
        }
        await origin.stop()
        await lab.stop()
    }

    @Test(
        "a pin is parsed with one slash or two, and any other form is rejected",
        arguments: [
            ("sha256//AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", true),
            ("sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", true),
            ("sha256//AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", false),
            ("sha256//AAEC", false), ("sha1//AAEC", false), ("", false), ("sha256/", false),
        ]
    )
    func pinText(text: String, isPin: Bool) {
        #expect(PublicKeyPin(text).map { $0.hash == Array(0..<32) } == (isPin ? true : nil))
    }

    @Test(
        "a connection that the client closes ends with TLS's closing alert",
        arguments: [("http/1.1", ""), ("http/1.1", "Connection: close\r\n"), ("h2", "")]
    )
    func closingAlert(version: String, field: String) async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = [version]
        // Whether each connection ended with the alert.
        let ends = NIOLockedValueBox<[Bool]>([])
        let server = try await RawServer.start(tls: tls) { connection in
            if version == "h2" {
                _ = try await connection.receive(count: RawFrame.preface.count)
                try await connection.send(RawFrame(.settings).bytes)
                guard let head = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
                let response = RawFrame.headers([(":status", "204")], stream: head.stream, flags: 5)
                try await connection.send(response.bytes)
            } else {
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send("HTTP/1.1 204 No Content\r\n\(field)\r\n")
            }
            let isOrderly = (try? await connection.drain()) != nil
            ends.withLockedValue { $0.append(isOrderly) }
        }
        let engine = Engine()
        let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(server.port)/"))
        let response = try await engine.exchange(
            request,
            from: EndpointList(server.endpoints),
            tls: settings(authority)
        )
        #expect(try await response.text() == "")
        engine.closeIdle()
        try await eventually("the end of the connection") { !ends.withLockedValue { $0.isEmpty } }
        #expect(ends.withLockedValue { $0 } == [true])
        await engine.shutDown()
        await server.stop()
    }

    @Test("a server below the minimum version is refused, and only the given roots are trusted")
    func versionAndRoots() async throws {
        let authority = try TestAuthority()
        var old = ServerTLS(try authority.certificate(for: "a.test"))
        old.maxVersion = .tlsv12
        let origin = try await LoopbackOrigin.start(tls: old) { _ in .text("ok") }
        let engine = Engine()
        #expect(try await get(origin, tls: settings(authority), engine: engine) == "ok")
        var strict = settings(authority)
        strict.minVersion = .tls13
        let version = await #expect(throws: DirectHTTPError.self) {
            _ = try await get(origin, tls: strict, engine: engine)
        }
        #expect(version?.code == .tlsFailed)
        let file = try TemporaryFile(bytes: Array(authority.rootPEM.utf8))
        var fromFile = TLSSettings()
        fromFile.rootFiles = [file.path]
        #expect(try await get(origin, tls: fromFile, engine: engine) == "ok")
        let stranger = await #expect(throws: DirectHTTPError.self) {
            _ = try await get(origin, tls: TLSSettings(), engine: engine)
        }
        #expect(stranger?.code == .certificateRejected)
        await engine.shutDown()
        await origin.stop()
    }

    @Test("a server's certificate may have an Ed25519 or P-521 key", arguments: [TestKeyKind.ed25519, .p521])
    func kindsOfKeys(kind: TestKeyKind) async throws {
        let authority = try TestAuthority()
        let certificate = try authority.certificate(for: ["a.test"], key: kind)
        let origin = try await LoopbackOrigin.start(tls: ServerTLS(certificate)) { _ in .text("ok") }
        let engine = Engine()
        #expect(try await get(origin, tls: settings(authority), engine: engine) == "ok")
        await engine.shutDown()
        await origin.stop()
    }

    @Test("an error for an unreadable identity or root names the part, the file and the remedy")
    func unreadableFiles() async throws {
        let authority = try TestAuthority()
        let certificate = try authority.certificate(for: "client.test")
        let other = try authority.certificate(for: "other.test")
        let chain = try TemporaryFile(bytes: Array(certificate.chainPEM.utf8))
        let stranger = try TemporaryFile(bytes: Array(other.keyPEM.utf8))
        let absent = chain.path + ".absent"
        let rows: [(ClientIdentity?, String?, [String])] = [
            (
                ClientIdentity(chain: .pemFile(absent), key: .pemFile(absent)), nil,
                ["certificate in \(absent)", "does not exist"]
            ),
            (
                ClientIdentity(chain: .pemFile(chain.path), key: .pemFile(absent)), nil,
                ["key in \(absent)", "does not exist"]
            ),
            (ClientIdentity(chain: .pemFile(chain.path), key: .pemFile(chain.path)), nil, ["key in", "passphrase"]),
            (ClientIdentity(chain: .pemFile(stranger.path), key: .pem("")), nil, ["certificate in", "write PEM"]),
            (
                ClientIdentity(chain: .pemFile(chain.path), key: .pemFile(stranger.path)), nil,
                ["key in \(stranger.path) does not match the first certificate in \(chain.path)"]
            ),
            (nil, absent, ["root certificates in \(absent)", "does not exist"]),
            (nil, stranger.path, ["root certificates in \(stranger.path)", "write a PEM file"]),
        ]
        let engine = Engine()
        let request = try PreparedRequest(.get, HTTPURL("https://a.test/"))
        for (identity, root, parts) in rows {
            var tls = settings(authority)
            tls.identity = identity
            if let root { tls.rootFiles = [root] }
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await engine.exchange(
                    request,
                    from: EndpointList([Endpoint(IPAddress(v4: 0), port: 1)]),
                    tls: tls
                )
            }
            #expect(error?.code == .tlsFailed)
            for part in parts { #expect(error?.message.contains(part) == true, "\(error?.message ?? "")") }
        }
        var tls = settings(authority)
        tls.rootPEMs = ["nothing"]
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(request, from: EndpointList([Endpoint(IPAddress(v4: 0), port: 1)]), tls: tls)
        }
        #expect(error?.message.contains("rootPEMs") == true)
        await engine.shutDown()
    }

    @Test("a maximum version of TLS below the minimum fails at once, without a handshake that never begins")
    func noVersion() async throws {
        let authority = try TestAuthority()
        let origin = try await LoopbackOrigin.start(tls: ServerTLS(try authority.certificate(for: "a.test"))) { _ in
            .text("ok")
        }
        var tls = settings(authority)
        tls.minVersion = .tls13
        tls.maxVersion = .tls12
        let engine = Engine()
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await get(origin, tls: tls, engine: engine)
        }
        #expect(error?.code == .tlsFailed && error?.message.contains("maxVersion") == true)
        await engine.shutDown()
        await origin.stop()
    }

    @Test(
        "a TLS error is explained in plain words, without BoringSSL's source lines",
        arguments: [
            ("a server of old versions", Refusing.oldVersion, DirectHTTPError.Code.tlsFailed, "minVersion"),
            ("a server without TLS", .noTLS, .tlsFailed, "does not use TLS"),
            ("a certificate that is over", .expired, .certificateRejected, "expired on 20"),
            ("a certificate that is not valid yet", .notYetValid, .certificateRejected, "is not valid before 20"),
            ("a certificate of a stranger", .stranger, .certificateRejected, "no trusted issuer signed"),
            ("a client certificate of a stranger", .strangeClient, .tlsFailed, "client certificate"),
        ]
    )
    func words(what: String, server: Refusing, code: DirectHTTPError.Code, words: String) async throws {
        let authority = try TestAuthority()
        var settings = settings(authority)
        let flaw: CertificateFlaw = server == .expired ? .expired : server == .notYetValid ? .notYetValid : .none
        var tls = ServerTLS(
            try (server == .stranger ? TestAuthority() : authority).certificate(for: "a.test", flaw: flaw)
        )
        if server == .oldVersion {
            tls.maxVersion = .tlsv12
            settings.minVersion = .tls13
        }
        if server == .strangeClient {
            // In TLS 1.3 the server may close the connection before it reads the request, and its alert may be lost.
            tls.maxVersion = .tlsv12
            tls.clientAuthority = try TestAuthority(name: "Clients")
            let certificate = try authority.certificate(for: "client.test")
            settings.identity = ClientIdentity(chain: .pem(certificate.chainPEM), key: .pem(certificate.keyPEM))
        }
        let origin = try await LoopbackOrigin.start(tls: tls) { _ in .text("ok") }
        let plain = try await RawServer.start { connection in
            try await connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
            _ = try await connection.drain()
        }
        let engine = Engine()
        let endpoints = server == .noTLS ? plain.endpoints : origin.endpoints
        let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(endpoints[0].port)/"))
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(request, from: EndpointList(endpoints), tls: settings).text()
        }
        #expect(error?.code == code)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(".cc") == false, "\(error?.message ?? "")")
        await engine.shutDown()
        await plain.stop()
        await origin.stop()
    }

    @Test(
        "what a server demands in the handshake or after it is explained",
        arguments: [
            ("NO_RENEGOTIATION", "second handshake"),
            ("NO_RENEGOTIATION", "client certificate"),
            ("SSLV3_ALERT_HANDSHAKE_FAILURE", "ciphers or groups"),
        ]
    )
    func demands(reason: String, words: String) {
        struct LibraryError: Error, CustomStringConvertible {
            let description: String
        }
        let error = LibraryError(description: "error:100000b6:SSL routines:OPENSSL_internal:\(reason) at ssl_lib.cc:1")
        let text = TLSFault.explain(error)
        #expect(text.contains(words) && text.hasSuffix("(\(reason))"), "\(text)")
    }

    enum Refusing: Sendable {
        case oldVersion
        case noTLS
        case expired
        case notYetValid
        case stranger
        case strangeClient
    }
}
