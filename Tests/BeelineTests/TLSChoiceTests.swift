// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@Suite("TLS: maximum version, ciphers, groups, folders of roots", .timeLimit(.minutes(1)))
struct TLSChoiceTests {
    @Test("a connection is made with the versions, ciphers and groups of the settings")
    func choices() async throws {
        for (version, group) in [(TLSSettings.Version.tls12, TLSSettings.Group.p256), (.tls13, .x25519)] {
            let lab = try await ClientLab {
                $0.tls.maxVersion = version
                $0.tls.groups = [group]
                $0.tls.cipherSuites = TLSSettings.CipherSuite.allCases
            } handler: { _ in
                .text("ok")
            }
            #expect(try await lab.client.get(lab.url("a.test")).text() == "ok")
            await lab.stop()
        }
    }

    @Test("the roots of a folder are those of its PEM files, under any name")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roots-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try "no certificate".write(to: folder.appending(path: "README"), atomically: true, encoding: .utf8)
        let lab = try await ClientLab { _ in .text("ok") }
        try lab.authority.rootPEM.write(to: folder.appending(path: "root.crt"), atomically: true, encoding: .utf8)
        var configuration = lab.client.configuration
        configuration.tls.rootPEMs = []
        configuration.tls.rootFolders = [folder.path]
        let client = try BeelineClient(configuration)
        #expect(try await client.get(lab.url("a.test")).text() == "ok")
        await client.shutDown()
        await lab.stop()
    }

    @Test("a version that the server does not take and a missing folder fail the handshake")
    func failures() async throws {
        let changes: [@Sendable (inout TLSSettings) -> Void] = [
            { ($0.minVersion, $0.maxVersion) = (.tls10, .tls11) },
            { $0.rootFolders = ["/no/such/folder"] },
        ]
        for change in changes {
            let lab = try await ClientLab {
                change(&$0.tls)
            } handler: { _ in
                .text("ok")
            }
            let error = await #expect(throws: BeelineError.self) { try await lab.client.get(lab.url("a.test")) }
            #expect(error?.code == .tlsFailed)
            await lab.stop()
        }
    }
}
