// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import NIOSSL
import Names
import Testing

@Suite("TLS: who the client is, and which keys it takes", .timeLimit(.minutes(1)))
struct TLSTests {
    /// A server that asks for a certificate of `clients`.
    private func start(_ authority: TestAuthority, clients: TestAuthority) async throws -> LoopbackOrigin {
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.clientAuthority = clients
        return try await LoopbackOrigin.start(tls: tls) { _ in .text("known") }
    }

    private func get(_ origin: LoopbackOrigin, _ tls: TLSSettings, _ engine: Engine) async throws -> String {
        let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(origin.port)/"))
        return try await engine.exchange(request, from: EndpointList(origin.endpoints), tls: tls).text()
    }

    private func settings(_ authority: TestAuthority) -> TLSSettings {
        var settings = TLSSettings()
        settings.trustsSystemRoots = false
        settings.rootPEMs = [authority.rootPEM]
        return settings
    }

    @Test("a client certificate is shown to a server that asks: from PEM, from files and from DER")
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
            #expect(try await get(origin, tls, engine) == "known")
        }
        #expect(origin.connections.accepted == 3, "who we are is part of what makes connections interchangeable")
        let nobody = await #expect(throws: DirectHTTPError.self) {
            _ = try await get(origin, settings(authority), engine)
        }
        #expect(nobody?.code == .connectionLost || nobody?.code == .tlsFailed)
        var broken = settings(authority)
        broken.identity = ClientIdentity(chain: .pem("nothing"), key: .pem("nothing"))
        let unreadable = await #expect(throws: DirectHTTPError.self) { _ = try await get(origin, broken, engine) }
        #expect(unreadable?.code == .tlsFailed)
        #expect(unreadable?.message.contains("client certificate") == true)
        await engine.shutDown()
        await origin.stop()
    }

    @Test("a pinned key is taken, a backup too; any other is a mismatch that shows the key")
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
            ("another host's pin says nothing", [PinnedHost(try Host("b.test"), pins: [wrong])], true),
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
                    #expect(try await get(origin, tls, lab.engine) == "pinned", "\(what)")
                    continue
                }
                let before = origin.requests.count
                let error = await #expect(throws: DirectHTTPError.self, "\(what)") {
                    _ = try await get(origin, tls, lab.engine)
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
        "a pin is read as curl writes it and as others do, and as nothing else",
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

    @Test("a server below the lowest version is refused, and roots are those that were given")
    func versionAndRoots() async throws {
        let authority = try TestAuthority()
        var old = ServerTLS(try authority.certificate(for: "a.test"))
        old.maximumVersion = .tlsv12
        let origin = try await LoopbackOrigin.start(tls: old) { _ in .text("ok") }
        let engine = Engine()
        #expect(try await get(origin, settings(authority), engine) == "ok")
        var strict = settings(authority)
        strict.minimumVersion = .tls13
        let version = await #expect(throws: DirectHTTPError.self) { _ = try await get(origin, strict, engine) }
        #expect(version?.code == .tlsFailed)
        #expect(version?.message.contains("no version of TLS that is taken here") == true)
        let file = try TemporaryFile(bytes: Array(authority.rootPEM.utf8))
        var fromFile = TLSSettings()
        fromFile.rootFiles = [file.path]
        #expect(try await get(origin, fromFile, engine) == "ok")
        let stranger = await #expect(throws: DirectHTTPError.self) { _ = try await get(origin, TLSSettings(), engine) }
        #expect(stranger?.code == .certificateRejected)
        await engine.shutDown()
        await origin.stop()
    }
}
