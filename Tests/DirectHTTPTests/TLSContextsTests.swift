// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import Testing

@testable import DirectHTTP

@Suite("TLS contexts")
struct TLSContextsTests {
    @Test("contexts of new settings do not accumulate, and contexts in use are kept")
    func bound() throws {
        let authority = try TestAuthority()
        let contexts = TLSContexts()
        var settings = TLSSettings()
        settings.trustsSystemRoots = false
        settings.rootPEMs = [authority.rootPEM]
        let first = try contexts.context(for: settings, checksName: true)
        for number in 1..<(2 * TLSContexts.maxContexts) {
            var others = settings
            others.rootPEMs = Array(repeating: authority.rootPEM, count: number + 1)
            _ = try contexts.context(for: others, checksName: true)
            #expect(try contexts.context(for: settings, checksName: true).context === first.context)
        }
        #expect(contexts.count == TLSContexts.maxContexts)
    }

    @Test("a renewed file is read again, and an unchanged file is not")
    func renewedFile() throws {
        let path = FileManager.default.temporaryDirectory.path + "/beeline-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let contexts = TLSContexts()
        var settings = TLSSettings()
        settings.trustsSystemRoots = false
        settings.rootFiles = [path]
        let pem = try TestAuthority().rootPEM
        try Data(pem.utf8).write(to: URL(fileURLWithPath: path))
        let first = try contexts.context(for: settings, checksName: true).context
        #expect(try contexts.context(for: settings, checksName: true).context === first)
        // Use another size, because some file systems have coarse timestamps.
        try Data((try TestAuthority().rootPEM + "\n\n").utf8).write(to: URL(fileURLWithPath: path))
        #expect(try contexts.context(for: settings, checksName: true).context !== first)
    }

    @Test("a file that blocks delays only the requests that need it")
    func slowFile() async throws {
        let authority = try TestAuthority()
        let path = FileManager.default.temporaryDirectory.path + "/beeline-test-\(UUID().uuidString)"
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let contexts = TLSContexts()
        var slow = TLSSettings()
        slow.trustsSystemRoots = false
        slow.rootFiles = [path]
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let thread = Thread { [slow] in end.yield((try? contexts.context(for: slow, checksName: true)) != nil) }
        thread.start()
        // Opening a FIFO for writing succeeds without waiting once it has a reader.
        let writer = try await eventualValue("a reader of the FIFO") {
            let writer = open(path, O_WRONLY | O_NONBLOCK)
            return writer >= 0 ? writer : nil
        }
        var other = TLSSettings()
        other.trustsSystemRoots = false
        other.rootPEMs = [authority.rootPEM]
        let (others, made) = AsyncStream.makeStream(of: Bool.self)
        Thread { [other] in made.yield((try? contexts.context(for: other, checksName: true)) != nil) }.start()
        let isMade = try? await withTimeLimit(.seconds(10), for: { "another context" }) {
            await others.first { _ in true }
        }
        #expect(isMade == true)
        close(writer)
        #expect(await ends.first { _ in true } == false)
    }
}
