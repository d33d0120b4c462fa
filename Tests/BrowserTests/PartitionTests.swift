// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers
import Testing

@testable import BeelineWebDriver

/// The partitions of Firefox's cookies, with a closure that plays Firefox.
@Suite("Partitions that Firefox does not list")
struct PartitionTests {
    /// The cookies of the simulated Firefox by partition. A query without a partition returns all, without partitions.
    private let partitions: NIOLockedValueBox<[Site?: [Cookie]]>
    private let asked = NIOLockedValueBox<[Site?]>([])
    private let known = NIOLockedValueBox(FirefoxPartitions())

    init() {
        partitions = NIOLockedValueBox([nil: [Cookie("plain", "1", domain: "own.test")]])
    }

    private static func site(_ number: Int) throws -> Site { try #require(Site("https://site-\(number).test")) }

    private func put(_ value: String, in site: Site) {
        partitions.withLockedValue { $0[site] = [Cookie("sid", value, domain: "widget.test")] }
    }

    private func look(open: [Site]) async throws -> [Cookie] {
        asked.withLockedValue { $0 = [] }
        return try await known.cookies(open: open) { (site: Site?) async throws(WebDriverError) in
            self.asked.withLockedValue { $0.append(site) }
            return self.partitions.withLockedValue { site == nil ? $0.values.flatMap(\.self) : $0[site] ?? [] }
        }
    }

    @Test("cookies keep their partition after 200 other sites were open")
    func manySites() async throws {
        let count = 200
        for number in 0..<count {
            put("\(number)", in: try Self.site(number))
            _ = try await look(open: [try Self.site(number)])
        }
        let cookies = try await look(open: [])
        for number in 0..<count {
            let cookie = try #require(cookies.first { $0.value == "\(number)" })
            #expect(cookie.partition == (try Self.site(number)))
        }
        #expect(cookies.count == count + 1)
        #expect(cookies.first { $0.name == "plain" }?.partition == nil)
        // One query without a partition, one for the last site, and one for each recent site; not one for every site.
        #expect(asked.withLockedValue { $0.count } == 2 + FirefoxPartitions.recentLimit)
    }

    @Test("the partitions of all open tabs are read, even if there are more than the limit of recent sites")
    func manyTabs() async throws {
        let sites = try (0..<100).map { try Self.site($0) }
        for (number, site) in sites.enumerated() { put("\(number)", in: site) }
        for _ in 0..<3 {
            let cookies = try await look(open: sites)
            #expect(cookies.count { $0.partition != nil } == 100)
        }
    }

    @Test("partitions that were filled before the first read are read, too")
    func manyPut() async throws {
        for number in 0..<100 {
            put("\(number)", in: try Self.site(number))
            known.withLockedValue { try? $0.remember(Self.site(number)) }
        }
        for _ in 0..<3 { #expect(try await look(open: []).count { $0.partition != nil } == 100) }
    }

    @Test("in partitions of closed sites, a changed cookie is found and a deleted one is forgotten")
    func changes() async throws {
        for number in 0..<100 {
            put("\(number)", in: try Self.site(number))
            _ = try await look(open: [try Self.site(number)])
        }
        put("changed", in: try Self.site(0))
        partitions.withLockedValue { try? $0[Self.site(1)] = nil }
        let cookies = try await look(open: [])
        #expect(cookies.first { $0.value == "changed" }?.partition == (try Self.site(0)))
        #expect(!cookies.contains { $0.value == "1" && $0.name == "sid" })
        #expect(cookies.count == 100)
        let gone = try Self.site(1)
        #expect(!known.withLockedValue { $0.resting.contains { $0.site == gone } })
    }

    @Test("equal cookies in several partitions each keep their partition")
    func same() async throws {
        for number in 0..<100 {
            put("same", in: try Self.site(number))
            _ = try await look(open: [try Self.site(number)])
        }
        let cookies = try await look(open: [])
        #expect(Set(cookies.compactMap(\.partition)).count == 100 && cookies.count == 101)
    }

    @Test("a cookie that was set in the partition of its own site is shown there, also with a new value")
    func own() async throws {
        func shown(_ value: String, isSecure: Bool = true) -> Cookie {
            var cookie = Cookie("own", value, domain: "own.test")
            cookie.isSecure = isSecure
            return cookie
        }
        var cookie = shown("1")
        cookie.partition = Site("https://own.test")
        known.withLockedValue { [cookie] in $0.setOwn(cookie) }
        for value in ["1", "2"] {
            partitions.withLockedValue { $0[nil] = [shown(value)] }
            let cookies = try await look(open: [])
            #expect(cookies.map(\.value) == [value] && cookies.map(\.partition) == [cookie.partition])
        }
        // An unpartitioned cookie of the same name keeps no partition.
        partitions.withLockedValue { $0[nil] = [shown("0"), shown("1")] }
        let both = try await look(open: [])
        #expect(both.first { $0.value == "0" }?.partition == nil)
        #expect(both.first { $0.value == "1" }?.partition == cookie.partition)
        partitions.withLockedValue { $0[nil] = [shown("1", isSecure: false)] }
        #expect(try await look(open: []).map(\.partition) == [nil], "partitioned cookies have Secure")
        partitions.withLockedValue { $0[nil] = [shown("1")] }
        var other = cookie
        other.partition = Site("https://shop.test")
        known.withLockedValue { [other] in $0.forgetOwn(other) }
        #expect(try await look(open: []).map(\.partition) == [cookie.partition], "the deleted cookie was another")
        known.withLockedValue { [cookie] in $0.forgetOwn(cookie) }
        #expect(try await look(open: []).map(\.partition) == [nil], "the cookie was deleted")
    }
}
