// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Testing

@Suite struct TestAuthorityTests {
    @Test(arguments: [
        ("an exact name", ["a.test"], "a.test", true),
        ("whatever the case", ["A.test"], "a.TEST", true),
        ("another name", ["a.test"], "b.test", false),
        ("a wildcard covers one label", ["*.test"], "a.test", true),
        ("but not two", ["*.test"], "a.b.test", false),
        ("nor an empty one", ["*.test"], "test", false),
        ("an address", ["127.0.0.1"], "127.0.0.1", true),
    ])
    func covers(_: String, names: [String], name: String, expected: Bool) throws {
        #expect(try TestAuthority().certificate(for: names).covers(name) == expected)
    }

    @Test func certificatesOfOneAuthorityHaveKeysOfTheirOwn() throws {
        let authority = try TestAuthority()
        let one = try authority.certificate(for: "a.test")
        let other = try authority.certificate(for: "a.test")
        #expect(one.publicKeyHash != other.publicKeyHash)
        #expect(one.publicKeyHash.count == 32)
        #expect(one.keyPEM.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }
}
