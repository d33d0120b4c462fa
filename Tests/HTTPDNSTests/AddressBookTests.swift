// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("Address book: the hosts of an address")
struct AddressBookTests {
    static func address(_ number: UInt32) -> IPAddress { IPAddress(v4: 0xc000_0200 + number) }

    @Test("an address lists each of its hosts once, in order of arrival, up to eight hosts")
    func hosts() throws {
        var book = AddressBook(maxAddresses: 10)
        let names = try (0..<10).map { try Host("\($0).test") }
        for name in names + names { book.record([Self.address(1)], of: name) }
        #expect(book.hosts(of: Self.address(1)) == Array(names.prefix(8)))
        #expect(book.hosts(of: Self.address(2)) == [])
    }

    @Test("a full book does not add new addresses")
    func full() throws {
        var book = AddressBook(maxAddresses: 1)
        book.record([Self.address(1), Self.address(2)], of: try Host("a.test"))
        book.record([Self.address(1), Self.address(2)], of: try Host("b.test"))
        #expect(book.hosts(of: Self.address(1)).count == 2)
        #expect(book.hosts(of: Self.address(2)) == [])
    }

    @Test("the resolver records the IPv4 and IPv6 addresses of each answer that it returns")
    func resolver() async throws {
        let table = HostsTable(parsing: "192.0.2.1 a.test\n2001:db8::1 a.test\n192.0.2.1 b.test")
        let resolver = Resolver(ResolverConfiguration(upstreams: [FixedUpstream(table)], system: nil))
        let (a, b) = (try Host("a.test"), try Host("b.test"))
        #expect(resolver.hosts(of: Self.address(1)) == [])
        _ = try await resolver.resolve(a)
        #expect(resolver.hosts(of: Self.address(1)) == [a])
        #expect(resolver.hosts(of: IPAddress(v6: 0x2001_0db8_0000_0000, 1)) == [a])
        _ = try await resolver.resolve(b)
        resolver.forgetAll()
        #expect(resolver.hosts(of: Self.address(1)) == [a, b])
        await resolver.shutDown()
    }
}
