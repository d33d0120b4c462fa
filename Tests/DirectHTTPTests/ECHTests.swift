// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import Names
import Testing

@testable import DirectHTTP

/// The server sees the outer server name before it decrypts the ClientHello, so `serverName` is what an observer sees.
@Suite("Encrypted Client Hello", .timeLimit(.minutes(1)))
struct ECHTests {
    private static let cover = "cover.test"

    private struct Site {
        let authority: TestAuthority
        let origin: LoopbackOrigin
        let keys: ServerECH
        let engine: Engine

        /// - Parameters:
        ///   - names: the names of the certificate.
        ///   - isOn: whether the server has ECH keys.
        init(names: [String] = ["a.test", ECHTests.cover], isOn: Bool = true, maxVersion13: Bool = true) async throws {
            var configuration = EngineConfiguration()
            configuration.maxIdleConnections = 0
            engine = Engine(configuration: configuration)
            authority = try TestAuthority()
            keys = try ServerECH(publicName: ECHTests.cover)
            var tls = ServerTLS(try authority.certificate(for: names))
            if isOn { tls.ech = keys }
            if !maxVersion13 { tls.maxVersion = .tlsv12 }
            origin = try await LoopbackOrigin.start(tls: tls) { request in
                .text("\(request.authority ?? "-") over \(request.connection.serverName ?? "-")")
            }
        }

        func tls(_ ech: TLSSettings.ECH = .automatic, grease: Bool = false) -> TLSSettings {
            var settings = TLSSettings()
            settings.trustsSystemRoots = false
            settings.rootPEMs = [authority.rootPEM]
            settings.ech = ech
            settings.sendsECHGrease = grease
            return settings
        }

        /// The endpoints as an HTTPS record describes them.
        func endpoints(_ configurations: [UInt8]?, isAuthenticated: Bool = true) -> EndpointList {
            var list = EndpointList(origin.endpoints)
            let service = EndpointService(echConfigList: configurations, isAuthenticated: isAuthenticated)
            list.services = Dictionary(uniqueKeysWithValues: list.endpoints.map { ($0, service) })
            return list
        }

        func rejectedName(of origin: Origin, list: ECHConfigList) -> String? {
            engine.ech.withLockedValue { $0.rejectedName(of: origin, list: list, now: .now()) }
        }

        /// Sends a request on a new connection.
        func get(
            _ list: EndpointList,
            _ tls: TLSSettings? = nil,
            route: Route = .direct
        ) async throws
            -> (text: String, ech: ECHOutcome)
        {
            let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(origin.port)/"))
            let response = try await engine.exchange(request, from: list, route: route, tls: tls ?? self.tls())
            let text = try await response.text()
            return (text.replacing(":\(origin.port)", with: ""), response.connection.ech)
        }

        func failure(_ list: EndpointList, _ tls: TLSSettings? = nil) async -> DirectHTTPError? {
            let error = await #expect(throws: DirectHTTPError.self) { _ = try await get(list, tls) }
            return error
        }

        func stop() async {
            await engine.shutDown()
            await origin.stop()
        }
    }

    @Test("the server name is encrypted where a record has a configuration", arguments: [false, true])
    func accepted(isRequired: Bool) async throws {
        let site = try await Site()
        let tls = site.tls(isRequired ? .required : .automatic)
        let answer = try await site.get(site.endpoints(site.keys.configurations), tls)
        #expect(answer.text == "a.test over cover.test")
        #expect(answer.ech == .accepted(publicName: Self.cover))
        let plain = try await site.get(site.endpoints(site.keys.configurations), site.tls(.off))
        #expect(plain.text == "a.test over a.test" && plain.ech == .notOffered)
        #expect(try await site.get(EndpointList(site.origin.endpoints)).ech == .notOffered)
        await site.stop()
    }

    @Test("no byte of the ClientHello shows the name")
    func hidden() async throws {
        let keys = try ServerECH(publicName: Self.cover)
        let hello = NIOLockedValueBox<[UInt8]>([])
        let server = try await RawServer.start { connection in
            if let bytes = try await connection.receive() { hello.withLockedValue { $0 = bytes } }
        }
        let engine = Engine()
        var tls = TLSSettings()
        tls.ech = .configured(try ECHConfigList(keys.configurations))
        let request = try PreparedRequest(.get, HTTPURL("https://secret.example.test/"))
        _ = try? await engine.exchange(request, from: EndpointList([server.endpoint]), tls: tls)
        let text = String(decoding: hello.withLockedValue { $0 }, as: UTF8.self)
        #expect(text.contains(Self.cover) && !text.contains("secret"))
        await engine.shutDown()
        await server.stop()
    }

    @Test("a server with other keys gets one more connection with its retry configuration")
    func rotated() async throws {
        let site = try await Site()
        let old = site.endpoints(site.keys.configurations)
        try site.keys.rotate()
        for ech in [TLSSettings.ECH.automatic, .required] {
            let before = site.origin.connections.accepted
            let answer = try await site.get(old, site.tls(ech))
            #expect(answer.text == "a.test over cover.test" && answer.ech == .accepted(publicName: Self.cover))
            #expect(site.origin.connections.accepted == before + 2)
        }
        await site.stop()
    }

    @Test("pins of the origin are not checked against the certificate for the public name, but later")
    func pins() async throws {
        let site = try await Site()
        let old = site.endpoints(site.keys.configurations)
        try site.keys.rotate()
        var tls = site.tls()
        tls.pins = [PinnedHost(try Host("a.test"), pins: [])]
        let error = await site.failure(old, tls)
        #expect(error?.code == .pinMismatch)
        #expect(site.origin.connections.accepted == 2)
        await site.stop()
    }

    @Test("a verified server without ECH turns it off for later connections", arguments: [true, false])
    func turnedOff(has13: Bool) async throws {
        let site = try await Site(isOn: false, maxVersion13: has13)
        let list = site.endpoints(site.keys.configurations)
        let answer = try await site.get(list)
        #expect(answer.text == "a.test over a.test" && answer.ech == .rejected(publicName: Self.cover))
        #expect(site.origin.connections.accepted == 2)
        #expect(try await site.get(list).ech == .rejected(publicName: Self.cover))
        #expect(site.origin.connections.accepted == 3, "it is remembered")
        let error = await site.failure(list, site.tls(.required))
        #expect(error?.code == .echFailed && error?.message.contains("turned ECH off") == true)
        #expect(site.origin.requests.count == 2)
        await site.stop()
    }

    @Test("a rejection is not accepted without a certificate for the public name", arguments: [true, false])
    func forged(isOn: Bool) async throws {
        let site = try await Site(names: ["a.test"], isOn: isOn)
        let list = site.endpoints(site.keys.configurations)
        try site.keys.rotate()
        for ech in [TLSSettings.ECH.automatic, .required] {
            let error = await site.failure(list, site.tls(ech))
            #expect(error?.code == .certificateRejected)
            #expect(error?.message.contains("rejected ECH with a certificate that is not for the public name") == true)
        }
        var unverified = site.tls(.required)
        unverified.verifiesCertificate = false
        let error = await site.failure(list, unverified)
        #expect(error?.code == .echFailed && error?.message.contains(ECHRemedy.turnOff.rawValue) == true)
        #expect(site.origin.connections.accepted == 3, "there is no second connection")
        await site.stop()
    }

    @Test("a connection that ends during the handshake does not lead to one without ECH")
    func noDowngrade() async throws {
        let keys = try ServerECH(publicName: Self.cover)
        let accepted = NIOLockedValueBox(0)
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            accepted.withLockedValue { $0 += 1 }
        }
        var list = EndpointList([server.endpoint])
        list.services = [server.endpoint: EndpointService(echConfigList: keys.configurations)]
        let engine = Engine()
        let request = try PreparedRequest(.get, HTTPURL("https://a.test/"))
        let source = list
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(request, from: source)
        }
        #expect(error?.code == .tlsFailed && error?.message.contains("ECH") == true)
        #expect(accepted.withLockedValue { $0 } == 1)
        await engine.shutDown()
        await server.stop()
    }

    /// It did not: the device has no certificate for the public name that could be believed.
    @Test("without verification a connection through a device that intercepts TLS succeeds")
    func intercepted() async throws {
        let site = try await Site(names: ["a.test"], isOn: false)
        var tls = site.tls()
        tls.verifiesCertificate = false
        let answer = try await site.get(site.endpoints(site.keys.configurations), tls)
        #expect(answer.ech == .notOffered && site.origin.connections.accepted == 1)
        await site.stop()
    }

    @Test("a timeout in a handshake with ECH names ECH and the setting that may help")
    func droppedHello() async throws {
        let keys = try ServerECH(publicName: Self.cover)
        let server = try await RawServer.start { connection in
            while try await connection.receive() != nil {}
        }
        var list = EndpointList([server.endpoint])
        list.services = [server.endpoint: EndpointService(echConfigList: keys.configurations)]
        var configuration = EngineConfiguration()
        configuration.dial.stagger = .milliseconds(1)
        let engine = Engine(configuration: configuration)
        var limits = TimeLimits()
        limits.connect = .seconds(1)
        let request = try PreparedRequest(.get, HTTPURL("https://a.test/"))
        for (ech, isNamed) in [(TLSSettings.ECH.automatic, true), (.off, false)] {
            var tls = TLSSettings()
            tls.trustsSystemRoots = false
            tls.ech = ech
            let (source, settings, time) = (list, tls, limits)
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await engine.exchange(request, from: source, tls: settings, limits: time)
            }
            #expect(error?.code == .connectTimeout)
            let words = "did not finish the handshake, with ECH for the public name \(Self.cover); "
            #expect(error?.message.contains(words + ECHRemedy.turnOff.rawValue) == isNamed)
            #expect(error?.message.contains("ECH") == isNamed)
        }
        await engine.shutDown()
        await server.stop()
    }

    @Test("a configuration from plain DNS that is rejected does not turn off one from an authenticated source")
    func forgedList() async throws {
        let site = try await Site(isOn: false)
        let other = try ServerECH(publicName: Self.cover)
        let forged = site.endpoints(other.configurations, isAuthenticated: false)
        #expect(try await site.get(forged).ech == .rejected(publicName: Self.cover))
        #expect(try await site.get(forged).ech == .rejected(publicName: Self.cover))
        #expect(site.origin.connections.accepted == 3, "the second request does not offer the list again")
        #expect(try await site.get(site.endpoints(site.keys.configurations)).ech == .rejected(publicName: Self.cover))
        #expect(site.origin.connections.accepted == 5, "another list is offered")
        await site.stop()
    }

    @Test("a dial for a bare channel uses the memory of its engine, which a change of network clears")
    func memoryOfTheEngine() async throws {
        let site = try await Site(isOn: false)
        let list = site.endpoints(site.keys.configurations)
        let origin = Origin(scheme: .https, host: try Host("a.test"), port: site.origin.port)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let dialed = loop.makePromise(of: Void.self)
        loop.execute {
            let dial = site.engine.race(
                to: list,
                for: origin,
                route: .direct,
                on: loop,
                settings: DialSettings(),
                tls: site.tls(),
                isTunnel: false,
                attempted: { _ in }
            ) { result in
                if case .success(let won) = result { won.channel.close(promise: nil) }
                dialed.completeWith(result.map { _ in }.mapError { $0 as any Error })
            }
            dial?.start()
        }
        try await dialed.futureResult.get()
        let offered = try ECHConfigList(site.keys.configurations)
        #expect(site.rejectedName(of: origin, list: offered) == Self.cover)
        site.engine.retireConnections()
        #expect(site.rejectedName(of: origin, list: offered) == nil)
        await site.stop()
    }

    @Test("the error of a required ECH names its cause")
    func requiredCauses() async throws {
        let site = try await Site()
        let good = site.endpoints(site.keys.configurations)
        var old = site.tls(.required)
        old.maxVersion = .tls12
        let cases: [(EndpointList, TLSSettings, String)] = [
            (EndpointList(site.origin.endpoints), site.tls(.required), "no configuration is known"),
            (site.endpoints([0, 1]), site.tls(.required), "its configuration cannot be used"),
            (
                site.endpoints(site.keys.configurations, isAuthenticated: false), site.tls(.required),
                "came by plain DNS"
            ),
            (good, old, "ECH needs TLS 1.3"),
        ]
        for (list, tls, cause) in cases {
            let error = await site.failure(list, tls)
            #expect(error?.code == .echFailed && error?.message.contains(cause) == true)
        }
        let proxy = Proxy(origin: Origin(scheme: .http, host: try Host("proxy.test"), port: site.origin.port))
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await site.get(good, site.tls(.required), route: .proxy(proxy))
        }
        #expect(error?.code == .echFailed && error?.message.contains("a proxy") == true)
        for host in ["127.0.0.1", String(repeating: "a", count: 64) + ".test"] {
            let request = try PreparedRequest(.get, HTTPURL("https://\(host):\(site.origin.port)/"))
            let endpoints = EndpointList(site.origin.endpoints)
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await site.engine.exchange(request, from: endpoints, tls: site.tls(.required))
            }
            #expect(error?.code == .echFailed && error?.message.contains("no server name to encrypt") == true)
        }
        #expect(site.origin.connections.accepted == 0)
        await site.stop()
    }

    /// Has the same endpoints after all of them failed, one of which has no configuration.
    private struct UnchangedSource: EndpointSource {
        let list: EndpointList

        func endpoints(for origin: Origin) -> EndpointList { list }
        func endpoints(for origin: Origin, insteadOf failed: EndpointList) -> EndpointList? { list }
    }

    @Test("endpoints without a configuration do not make a failed list look new")
    func unchangedList() async throws {
        let refused = try RefusedEndpoint()
        let keys = try ServerECH(publicName: Self.cover)
        var list = EndpointList([refused.endpoint, Endpoint(refused.endpoint.address, port: 9)])
        list.services = [refused.endpoint: EndpointService(echConfigList: keys.configurations)]
        var tls = TLSSettings()
        tls.ech = .required
        let engine = Engine()
        let request = try PreparedRequest(.get, HTTPURL("https://a.test/"))
        let (source, settings) = (UnchangedSource(list: list), tls)
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(request, from: source, tls: settings)
        }
        #expect(error?.attempts.map(\.endpoint) == [refused.endpoint])
        await engine.shutDown()
    }

    @Test("with required ECH, an address without a trusted configuration is not connected to")
    func required() async throws {
        let site = try await Site()
        let lists = [
            EndpointList(site.origin.endpoints), site.endpoints(nil), site.endpoints([0, 1]),
            site.endpoints(site.keys.configurations, isAuthenticated: false),
        ]
        for list in lists { #expect(await site.failure(list, site.tls(.required))?.code == .echFailed) }
        #expect(site.origin.connections.accepted == 0)
        await site.stop()
    }

    @Test("grease is sent only if the setting is on, and has no effect on the connection")
    func grease() async throws {
        let site = try await Site()
        for isOn in [true, false] {
            let answer = try await site.get(EndpointList(site.origin.endpoints), site.tls(grease: isOn))
            #expect(answer.text == "a.test over a.test" && answer.ech == (isOn ? .grease : .notOffered))
        }
        await site.stop()
    }

    @Test("sessions are kept apart from the outer name, and each handshake is encrypted")
    func resumption() async throws {
        let site = try await Site()
        let list = site.endpoints(site.keys.configurations)
        for _ in 0..<3 {
            let answer = try await site.get(list)
            #expect(answer.text == "a.test over cover.test" && answer.ech == .accepted(publicName: Self.cover))
        }
        await site.stop()
    }

    @Test("the handshake of a WebSocket is encrypted, too")
    func webSocket() async throws {
        let site = try await Site()
        let answer = try await site.engine.upgrade(
            WebSocketRequest(HTTPURL("wss://a.test:\(site.origin.port)/")),
            from: site.endpoints(site.keys.configurations),
            route: .direct,
            tls: site.tls(.required),
            settings: WebSocketSettings(),
            limits: TimeLimits()
        )
        #expect(answer.connection.ech == .accepted(publicName: Self.cover))
        await site.stop()
    }

    @Test(
        "a proxy's tunnel carries a configured list, and no record describes it",
        arguments: [ProxyServer.Kind.http, .socks5]
    )
    func tunnel(_ kind: ProxyServer.Kind) async throws {
        let site = try await Site()
        let server = try await ProxyServer.start(kind) { _, port in Endpoint(IPAddress(v4: 0x7f00_0001), port: port) }
        let place = Origin(scheme: .http, host: try Host("proxy.test"), port: server.endpoint.port)
        let proxy = Proxy(kind == .http ? .http : .socks5, origin: place)
        var list = EndpointList([server.endpoint])
        let record = EndpointService(echConfigList: site.keys.configurations)
        list.services = [server.endpoint: record]
        let configured = site.tls(.configured(try ECHConfigList(site.keys.configurations)))
        let answer = try await site.get(list, configured, route: .proxy(proxy))
        #expect(answer.text == "a.test over cover.test" && answer.ech == .accepted(publicName: Self.cover))
        let old = try await site.get(list, site.tls(), route: .proxy(proxy))
        #expect(old.ech == .notOffered)
        try site.keys.rotate()
        let rotated = try await site.get(list, configured, route: .proxy(proxy))
        #expect(rotated.text == "a.test over cover.test")
        await site.stop()
        await server.stop()
    }
}
