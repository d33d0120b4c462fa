// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("Decisions about ECH")
struct ECHPlanTests {
    private let bytes = ECHConfigListTests.list(ECHConfigListTests.configuration())
    private let newer = ECHConfigListTests.list(ECHConfigListTests.configuration(name: "newer.test"))

    private func settings(_ ech: TLSSettings.ECH, grease: Bool = false) -> TLSSettings {
        var settings = TLSSettings()
        settings.ech = ech
        settings.sendsECHGrease = grease
        return settings
    }

    private func rejection(_ retry: [UInt8]) -> ECHPlan.Rejection {
        ECHPlan.Rejection(publicName: "cover.test", retryConfigurations: retry)
    }

    @Test("the offer follows from the setting, the record and earlier rejections")
    func offers() throws {
        let list = try ECHConfigList(bytes)
        let record = EndpointService(echConfigList: bytes)
        let plain = EndpointService(echConfigList: bytes, isAuthenticated: false)
        let broken = EndpointService(echConfigList: [1, 2])
        func offer(
            _ ech: TLSSettings.ECH,
            _ service: EndpointService?,
            grease: Bool = false,
            off: String? = nil
        )
            -> ECHPlan.Offer
        {
            ECHPlan(settings(ech, grease: grease), service: service) { _ in off }.offer
        }
        #expect(offer(.automatic, record) == .list(list))
        #expect(offer(.automatic, plain) == .list(list), "it reveals no more than a handshake without ECH")
        #expect(offer(.automatic, broken) == .nothing)
        #expect(offer(.automatic, nil) == .nothing)
        #expect(offer(.automatic, nil, grease: true) == .grease)
        #expect(offer(.automatic, record, off: "cover.test") == .nothing)
        #expect(offer(.off, record) == .nothing)
        #expect(offer(.off, record, grease: true) == .grease)
        #expect(offer(.required, record) == .list(list))
        #expect(offer(.required, plain) == .nothing)
        #expect(offer(.required, record, off: "cover.test") == .list(list))
        #expect(offer(.configured(list), nil) == .list(list))
        var old = settings(.automatic)
        old.maxVersion = .tls12
        #expect(ECHPlan(old, service: record).offer == .nothing)
    }

    /// A rejection without a verified certificate cannot be believed, so that `-k` failed behind a device that intercepts TLS.
    @Test("an optional ECH is not offered without verification")
    func unverified() throws {
        let record = EndpointService(echConfigList: bytes)
        let list = try ECHConfigList(bytes)
        for (ech, offer) in [
            (TLSSettings.ECH.automatic, ECHPlan.Offer.nothing), (.required, .list(list)),
            (.configured(list), .list(list)),
        ] {
            var tls = settings(ech)
            tls.verifiesCertificate = false
            #expect(ECHPlan(tls, service: record).offer == offer)
        }
    }

    @Test("the configurations of records are used if ECH is automatic or required, and possible")
    func ofRecords() throws {
        #expect(settings(.automatic).usesECHOfRecords && settings(.required).usesECHOfRecords)
        let configured = settings(.configured(try ECHConfigList(bytes)))
        #expect(!settings(.off).usesECHOfRecords && !configured.usesECHOfRecords)
        var unverified = settings(.automatic)
        unverified.verifiesCertificate = false
        var old = settings(.required)
        old.maxVersion = .tls12
        #expect(!unverified.usesECHOfRecords && !old.usesECHOfRecords)
    }

    @Test("retry configurations are used once")
    func retry() throws {
        let record = EndpointService(echConfigList: bytes)
        for ech in [TLSSettings.ECH.automatic, .required] {
            var plan = ECHPlan(settings(ech), service: record)
            #expect(plan.handle(rejection(newer)) == .retry)
            #expect(plan.offer == .list(try ECHConfigList(newer)))
            #expect(plan.outcome(isAccepted: true) == .accepted(publicName: "newer.test"))
            guard case .fail = plan.handle(rejection(bytes)) else {
                Issue.record("a server could go on for ever")
                return
            }
        }
    }

    @Test(
        "without retry configurations ECH is turned off, unless it is required",
        arguments: [[UInt8]]([[], [0, 6, 0xfe, 0x0a, 0, 2, 1, 1]])
    )
    func turnOff(_ retry: [UInt8]) throws {
        let record = EndpointService(echConfigList: bytes)
        var plan = ECHPlan(settings(.automatic), service: record)
        #expect(plan.handle(rejection(retry)) == .turnOff)
        #expect(plan.offer == .nothing)
        #expect(plan.outcome(isAccepted: false) == .rejected(publicName: "cover.test"))
        for ech in [TLSSettings.ECH.required, .configured(try ECHConfigList(bytes))] {
            var strict = ECHPlan(settings(ech), service: record)
            guard case .fail = strict.handle(rejection(retry)) else {
                Issue.record("\(ech) must not be downgraded")
                return
            }
        }
    }

    @Test("retry configurations of a known version that cannot be used do not turn ECH off")
    func unusableRetry() {
        let unusable = ECHConfigListTests.list(ECHConfigListTests.configuration(name: "10.1.1.1"))
        for retry in [unusable, [0, 2, 1, 1], [0, 0], [7]] {
            var plan = ECHPlan(settings(.automatic), service: EndpointService(echConfigList: bytes))
            #expect(plan.handle(rejection(retry)) == .fail("rejected ECH and sent configurations that cannot be used"))
        }
    }

    /// A plain DNS server could otherwise turn ECH off for an origin with a list that names the attacker's own public name.
    @Test("a rejection of one list does not turn off another")
    func otherList() throws {
        var table = ECHTable()
        let now = NIODeadline.uptimeNanoseconds(1_000_000)
        let origin = Origin(scheme: .https, host: try Host("a.test"), port: 443)
        let forged = try ECHConfigList(newer)
        table.turnOff(origin, list: forged, publicName: "newer.test", now: now)
        #expect(table.rejectedName(of: origin, list: forged, now: now) == "newer.test")
        #expect(table.rejectedName(of: origin, list: try ECHConfigList(bytes), now: now) == nil)
    }

    @Test("origins that turned ECH off are remembered for ten minutes, up to a limit")
    func table() throws {
        let list = try ECHConfigList(bytes)
        var table = ECHTable()
        let now = NIODeadline.uptimeNanoseconds(1_000_000)
        func origin(_ number: Int) throws -> Origin {
            Origin(scheme: .https, host: try Host("n\(number).test"), port: 443)
        }
        for number in 0...ECHTable.maxRejections {
            let later = now + .nanoseconds(Int64(number))
            table.turnOff(try origin(number), list: list, publicName: "cover.test", now: later)
        }
        #expect(table.count == ECHTable.maxRejections)
        #expect(table.rejectedName(of: try origin(0), list: list, now: now) == nil, "the oldest is evicted")
        #expect(table.rejectedName(of: try origin(1), list: list, now: now) == "cover.test")
        #expect(table.rejectedName(of: try origin(1), list: list, now: now + .minutes(11)) == nil)
    }
}
