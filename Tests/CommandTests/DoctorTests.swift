// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// `beeline doctor` names each fault and the resolver or address that has it.
    struct DoctorTests {
        /// The lab's site on 127.0.0.1 and 127.0.0.2, a site of another name on 127.0.0.3, a closed port on 127.0.0.4.
        struct World {
            let lab: CommandLab
            let impostor: LoopbackOrigin

            init(impostorFlaw: CertificateFlaw = .none, names: String = "evil.test") async throws {
                lab = try await CommandLab()
                var tls = ServerTLS()
                tls.certificates = [try lab.authority.certificate(for: names, flaw: impostorFlaw)]
                impostor = try await LoopbackOrigin.start(
                    addresses: ["127.0.0.3"],
                    port: lab.site.port,
                    tls: tls,
                    handler: Routes.standard
                )
            }

            /// Examines `https://a.test` with these answers; the last one is the system's.
            ///
            /// - Parameter slowness: the time from which an address counts as slow. By default none does, because the
            ///   machine may be busy.
            func diagnosis(
                slowness: Duration = .seconds(600),
                _ answers: (String, String)...
            ) async throws -> Diagnosis {
                var upstreams = answers.map { name, addresses in
                    let addresses = addresses.split(separator: " ").compactMap { IPAddress(String($0)) }
                    let answer = Answer(v4: .addresses(addresses, ttl: .seconds(60)), v6: .absent(.noRecord, ttl: nil))
                    return ScriptedUpstream(name, kind: name == "system" ? .system : .service) { _ in
                        addresses.isEmpty ? .fail(UpstreamError(.unreachable, "is away")) : .answer(answer)
                    }
                }
                let system = upstreams.last?.kind == .system ? upstreams.removeLast() : nil
                var configuration = ResolverConfiguration(upstreams: upstreams, system: system)
                configuration.check.allowsLocalAnswers = true
                var tls = TLSSettings()
                tls.trustsSystemRoots = false
                tls.rootPEMs = [lab.authority.rootPEM]
                let resolver = Resolver(configuration)
                var examination = Examination(resolver: resolver, tls: tls)
                examination.timeout = .seconds(60)
                examination.slowness = slowness
                let diagnosis = await examination.run(try HTTPURL(lab.url("a.test")))
                await resolver.shutDown()
                return diagnosis
            }

            func stop() async {
                await impostor.stop()
                await lab.stop()
            }
        }

        @Test func allIsWell() async throws {
            let world = try await World()
            let diagnosis = try await world.diagnosis(("one", "127.0.0.1 127.0.0.2"), ("system", "127.0.0.2"))
            #expect(diagnosis.verdict.level == .well && diagnosis.verdict.findings == [])
            #expect(diagnosis.verdict.headline == "a.test is well: both addresses work.")
            #expect(diagnosis.places.map(\.namedBy) == [["one"], ["one", "system"]])
            for place in diagnosis.places {
                #expect(place.serves && place.connect != nil && place.handshake != nil && place.firstByte != nil)
                #expect(place.certificate?.names == ["a.test"] && place.certificate?.isForHost == true)
                #expect((89...90).contains(place.certificate?.daysLeft ?? 0))
            }
            await world.stop()
        }

        @Test func aSlowAddressIsNamed() async throws {
            let world = try await World()
            let verdict = try await world.diagnosis(slowness: .zero, ("one", "127.0.0.1")).verdict
            #expect(verdict.level == .attention && verdict.status == .ok)
            #expect(verdict.findings.count == 1 && verdict.findings[0].contains(" is slow: its response began after "))
            await world.stop()
        }

        @Test func aPoisonedSystemAnswerIsNamed() async throws {
            let world = try await World()
            let diagnosis = try await world.diagnosis(("one", "127.0.0.1"), ("system", "127.0.0.3"))
            let verdict = diagnosis.verdict
            #expect(verdict.level == .attention && verdict.status == .ok)
            #expect(
                verdict.findings == [
                    "127.0.0.3:\(world.lab.site.port), named by system, shows a certificate that is for evil.test: "
                        + "it is not a.test, and the resolver that returned it is wrong, poisoned or lying.",
                    "The answers disagree: system returns no address that one returns.",
                ]
            )
            await world.stop()
        }

        @Test func theAnswerThatIsTakenLeadsToNobody() async throws {
            let world = try await World()
            let diagnosis = try await world.diagnosis(("one", "127.0.0.4"), ("two", "127.0.0.1"))
            let verdict = diagnosis.verdict
            #expect(verdict.level == .broken && verdict.status == .connectFailed)
            #expect(verdict.headline == "a.test works, but not with the answer that requests use, that of one.")
            #expect(verdict.findings.first == "Put two first (--dns): its addresses work.")
            #expect(
                verdict.findings.contains { $0.hasPrefix("127.0.0.4:") && $0.contains("does not accept connections") }
            )
            await world.stop()
        }

        @Test(arguments: [
            (CertificateFlaw.expired, "a.test", "Its owner must renew it."),
            (.notYetValid, "a.test", "is not valid yet; it is refused. The clock of"),
            (.selfSigned, "a.test", "must be trusted first (--cacert)"),
        ])
        func aCertificateThatIsRefused(_ flaw: CertificateFlaw, _ name: String, _ words: String) async throws {
            let world = try await World(impostorFlaw: flaw, names: name)
            let verdict = try await world.diagnosis(("one", "127.0.0.3")).verdict
            #expect(verdict.level == .broken && verdict.status == .certificateRejected)
            #expect(verdict.findings.count == 1 && verdict.findings[0].contains(words), "\(verdict.findings)")
            await world.stop()
        }

        @Test func anAddressInTheURLIsExaminedWithoutAName() async throws {
            let world = try await World()
            let resolver = Resolver(ResolverConfiguration(system: nil))
            var tls = TLSSettings()
            tls.trustsSystemRoots = false
            tls.rootPEMs = [world.lab.authority.rootPEM]
            let examination = Examination(resolver: resolver, tls: tls)
            let plain = try await LoopbackOrigin.start(handler: Routes.standard)
            let good = await examination.run(try HTTPURL("http://\(plain.endpoint)/"))
            #expect(good.verdict.level == .well && good.verdict.status == .ok)
            #expect(good.verdict.headline == "127.0.0.1 is well: its address works.")
            // The site's certificate has a name, not this address.
            let bad = await examination.run(try HTTPURL("https://127.0.0.1:\(world.lab.site.port)/"))
            #expect(bad.verdict.level == .broken && bad.verdict.status == .certificateRejected)
            #expect(bad.verdict.headline == "127.0.0.1 gives no usable response.")
            #expect(bad.verdict.findings.first?.hasSuffix("use the site's name in the URL.") == true)
            await resolver.shutDown()
            await plain.stop()
            await world.stop()
        }

        @Test func aServerWithoutTheCertificateIsNotCalledPoison() async throws {
            let world = try await World()
            let verdict = try await world.diagnosis(("one", "127.0.0.3"), ("system", "127.0.0.3")).verdict
            #expect(verdict.findings.first?.contains("its server has no certificate for a.test, or") == true)
            await world.stop()
        }

        @Test func aServerWithoutTLSIsToldInWords() async throws {
            let world = try await World()
            let plain = try await RawServer.start(addresses: ["127.0.0.5"], port: world.lab.site.port) { connection in
                _ = try await connection.receive()
                try await connection.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            }
            let verdict = try await world.diagnosis(("one", "127.0.0.5")).verdict
            #expect(verdict.status == .tlsFailed)
            let start = "\(plain.endpoint), named by one, accepts connections, but failed the TLS handshake: "
            #expect(verdict.findings.count == 1, "\(verdict.findings)")
            #expect(verdict.findings.first?.hasPrefix(start + "the server does not use TLS on this port") == true)
            await plain.stop()
            await world.stop()
        }

        /// The verdict on these outcomes, without a server.
        private static func verdict(
            _ places: (address: String, outcome: Diagnosis.Place.Outcome)...
        ) async throws -> Verdict {
            var diagnosis = Diagnosis(origin: try HTTPURL("https://a.test/").origin)
            let addresses = places.compactMap { IPAddress($0.address) }
            let answer = Answer(
                v4: .addresses(addresses.filter { $0.family == .v4 }, ttl: nil),
                v6: .addresses(addresses.filter { $0.family == .v6 }, ttl: nil)
            )
            let upstream = ScriptedUpstream("one") { _ in .answer(answer) }
            let resolver = Resolver(ResolverConfiguration(upstreams: [upstream], system: nil))
            diagnosis.answers = await resolver.askAll(diagnosis.origin.host).map {
                Diagnosis.UpstreamAnswer($0, families: .both, host: diagnosis.origin.host)
            }
            await resolver.shutDown()
            diagnosis.places = zip(addresses, places).map { address, place in
                var seen = Diagnosis.Place(endpoint: Endpoint(address, port: 443), namedBy: ["one"])
                seen.outcome = place.outcome
                if case .serves = place.outcome { seen.connect = .zero }
                return seen
            }
            return Verdict(diagnosis, slowness: .seconds(1))
        }

        @Test func aFamilyThatLeadsNowhereIsNamed() async throws {
            let dead = Diagnosis.Place.Outcome.failed(.connectTimeout, "did not answer")
            let serves = Diagnosis.Place.Outcome.serves(status: 200, version: "h2")
            let verdict = try await Self.verdict(("2001:db8::1", dead), ("192.0.2.1", serves))
            #expect(verdict.level == .attention && verdict.status == .ok)
            #expect(verdict.findings.first?.hasPrefix("No connection succeeds over IPv6, ") == true)
            #expect(verdict.findings.first?.contains("-4 skips the IPv6 addresses") == true)
            let well = try await Self.verdict(("2001:db8::1", serves), ("2001:db8::2", dead), ("192.0.2.1", serves))
            #expect(well.findings.count == 1)
        }

        @Test func aServerThatIsOutOfOrderAndAPrivateAddressAreNamed() async throws {
            let broken = try await Self.verdict(("192.0.2.1", .serves(status: 503, version: "h2")))
            #expect(broken.level == .attention && broken.status == .ok)
            #expect(broken.findings.first?.contains("answers with status 503") == true)
            let inside = try await Self.verdict(("10.0.0.1", .failed(.connectTimeout, "did not answer")))
            #expect(inside.findings.first?.contains("private network") == true)
        }

        @Test func nobodyKnowsTheName() async throws {
            let world = try await World()
            let verdict = try await world.diagnosis(("one", "")).verdict
            #expect(verdict.level == .broken && verdict.status == .hostUnresolved)
            #expect(verdict.headline == "No resolver knows an address of a.test.")
            #expect(verdict.findings == ["one returns no address: is away."])
            await world.stop()
        }

        @Test func theCommandTellsDrawsAndExits() async throws {
            let world = try await World()
            let lab = world.lab
            let hosts = try lab.folder.write("127.0.0.3 a.test\n127.0.0.4 <b>.test\n", to: "hosts")
            let address = "a.test:\(lab.site.port)"
            let options = ["doctor", "--connect-timeout", "3"] + lab.names
            let run = try await lab.beeline(options + ["--dns", "hosts:\(hosts)", "--html", "doctor.html", address])
            #expect(run.status == 0 && run.errors == "")
            #expect(run.text.hasPrefix("https://\(address)\n\nAnswers\n"))
            #expect(
                run.text.contains("    127.0.0.2  for 60 s\n") && run.text.contains("serves: status 404, http/1.1\n")
            )
            #expect(run.text.contains("certificate that is for evil.test"))
            let page = try lab.folder.text("doctor.html")
            #expect(page.hasPrefix("<!doctype html>") && page.contains("evil.test") && !page.contains("<script"))

            let json = try await lab.beeline(options + ["--json", address])
            let report = try ReportView(json.text)
            #expect(report.keys == ["answers", "host", "origin", "places", "verdict"])
            #expect(report["verdict"]["level"].text == "well" || report["answers"].count == 2)
            #expect(report["places"][0]["serves"].isTrue == true && report["places"][0]["protocol"].text == "http/1.1")
            #expect(report["places"][0]["certificate"]["is_for_host"].isTrue == true)

            let refused = try await lab.beeline(
                ["doctor", "--dns", "hosts:\(hosts)", "--cacert", "\(lab.folder.path)/ca.pem", address]
            )
            #expect(refused.status == 60)
            #expect(try await lab.beeline(options + ["nobody.invalid"]).status == 6)
            #expect(try await lab.beeline(options + ["a b"]).status == 3)
            await world.stop()
        }

        @Test("addresses that only an HTTPS record has count, and have an upstream", .timeLimit(.minutes(1)))
        func addressesOfARecord() async throws {
            let lab = try await CommandLab(names: ["hints.test", "dead.test"])
            let zone = """
                $ORIGIN test.
                $TTL 300
                @ SOA ns hostmaster 1 2h 15m 2w 5m
                hints HTTPS 1 . port=\(lab.site.port) ipv4hint=127.0.0.1
                dead HTTPS 1 . port=\(lab.site.port) ipv4hint=127.0.0.9

                """
            try lab.folder.write(zone, to: "test.zone")
            _ = try await DNSProcess.run(["--zone", "test.zone"], in: lab.folder) { server in
                let spec = "dns:\(server.endpoint)"
                let options = ["--dns", spec, "--allow-local-answers", "--cacert", "ca.pem"]
                let works = try await lab.beeline(["doctor"] + options + ["https://hints.test/"])
                #expect(works.status == 0 && works.text.contains("hints.test works"), "\(works.text)")
                let dead = try await lab.beeline(["doctor"] + options + ["https://dead.test/"])
                #expect(dead.status == 7 && dead.text.contains("None of the addresses"), "\(dead.text)")
                let names = try await lab.beeline(["resolve"] + options + ["hints.test"])
                #expect(names.text.hasPrefix("hints.test 127.0.0.1 300 \(spec)\n"), "\(names.text)\(names.errors)")
            }
            await lab.stop()
        }

        @Test("exit codes and advice are those of fetch", .timeLimit(.minutes(1)))
        func asFetch() async throws {
            let lab = try await CommandLab()
            try lab.upstream.zone.set("a.test", to: ["127.0.0.1"], ttl: 60)
            var tls = ServerTLS(try lab.authority.certificate(for: "a.test"))
            tls.clientAuthority = try TestAuthority(name: "Clients")
            let guarded = try await LoopbackOrigin.start(tls: tls) { _ in .text("known") }
            // The alert protocol_version (RFC 8446 §6.2).
            let alert: [UInt8] = [0x15, 0x03, 0x03, 0, 2, 2, 70]
            let old = try await RawServer.start { connection in
                _ = try await connection.receive()
                try await connection.send(alert)
            }
            for command in [["fetch"], ["doctor"]] {
                let one = try await lab.beeline(command + lab.names + ["https://a.test:\(guarded.port)/"])
                #expect(one.status == 56, "\(command): \(one.text)\(one.errors)")
                let two = try await lab.beeline(command + ["https://127.0.0.1:\(old.port)/"])
                let text = two.text + two.errors
                #expect(two.status == 35 && text.contains("see --tlsv1.0 and --tls-max"), "\(command): \(text)")
                #expect(try await lab.beeline(command + ["ftp://a.test/"]).status == 1, "\(command)")
                #expect(try await lab.beeline(command + ["http://a b/"]).status == 3, "\(command)")
            }
            await old.stop()
            await guarded.stop()
            await lab.stop()
        }

        @Test func whatOthersWroteIsNoMarkup() {
            #expect(DoctorPage.escaped("<a href='x'>\"&\u{7}") == "&lt;a href=&#39;x&#39;&gt;&quot;&amp; ")
        }
    }
}
