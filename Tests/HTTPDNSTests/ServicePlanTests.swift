// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import Names
import Testing

@testable import HTTPDNS

@Suite("ServicePlan: the order of endpoints")
struct ServicePlanTests {
    private static func plan(
        _ texts: [String],
        own: HostAddresses,
        usesECH: Bool = true,
        random: [Double] = [0.1, 0.2, 0.3]
    ) -> [String]? {
        var random = random[...]
        let routes = texts.compactMap { HTTPSRecord(text: $0) }.compactMap { record in
            ServiceRoute(record, target: record.target == "." ? nil : try? Host(record.target))
        }
        let origin = Origin(scheme: .https, host: host("w.test.example"))
        let request = OriginRequest(origin, families: .both, usesECH: usesECH)
        let plan = ServicePlan(
            routes,
            own: own,
            hasFallback: request?.needsRoutes(routes) == false,
            targets: [:],
            port: 443,
            ranking: EndpointRanking(limits: .init()),
            random: { random.popFirst() ?? 0 },
            now: .past
        )
        return plan?.endpoints.map(\.description)
    }

    private static let own = HostAddresses(v4: addresses("192.0.2.1"), v6: addresses("2001:db8::1"))

    @Test("priority comes first, then families alternate, and the origin's own port is the last resort")
    func order() {
        #expect(
            Self.plan(["2 . port=2", "1 . port=1"].reversed(), own: Self.own) == [
                "[2001:db8::1]:1", "192.0.2.1:1", "[2001:db8::1]:2", "192.0.2.1:2", "[2001:db8::1]:443",
                "192.0.2.1:443",
            ]
        )
    }

    @Test("equal priorities are in random order")
    func shuffled() {
        let own = HostAddresses(v4: addresses("192.0.2.1"))
        let texts = ["1 . port=1", "1 . port=2"]
        #expect(Self.plan(texts, own: own, random: [0.1, 0.9])?.first == "192.0.2.1:1")
        #expect(Self.plan(texts, own: own, random: [0.9, 0.1])?.first == "192.0.2.1:2")
    }

    @Test("ECH is required if all records have it, unless the client cannot use it")
    func ech() throws {
        let own = HostAddresses(v4: addresses("192.0.2.1"))
        let ech = Base64.encode(try ServerECH(publicName: "b.test").configurations)
        #expect(Self.plan(["1 . port=1 ech=\(ech)"], own: own) == ["192.0.2.1:1"])
        #expect(Self.plan(["1 . port=1 ech=\(ech)"], own: own, usesECH: false) == ["192.0.2.1:1", "192.0.2.1:443"])
        #expect(Self.plan(["1 . port=1 ech=\(ech)", "2 ."], own: own) == ["192.0.2.1:1", "192.0.2.1:443"])
        #expect(Self.plan(["1 . port=1 ech=AA=="], own: own) == ["192.0.2.1:1", "192.0.2.1:443"])
    }

    @Test("hints replace addresses that have not arrived, and without hints there is no plan")
    func hints() {
        let text = "1 svc.example. ipv4hint=192.0.2.7 ipv6hint=2001:db8::7"
        #expect(Self.plan([text], own: HostAddresses()) == ["[2001:db8::7]:443", "192.0.2.7:443"])
        #expect(Self.plan(["1 svc.example."], own: Self.own) == nil)
    }
}
