// SPDX-License-Identifier: Apache-2.0

import Foundation
import Names
import Testing

@testable import BeelineCommand
@testable import BeelineServer

struct AccessLogTests {
    @Test func whatWaitsIsBoundedInOctetsAndWhatWasDroppedIsCounted() async throws {
        let folder = NSTemporaryDirectory() + "/beeline-log-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let log = try #require(try AccessLog("\(folder)/log"))
        let record = AccessRecord(
            client: IPAddress(v4: 1),
            form: .doh,
            account: nil,
            names: String(repeating: "n", count: 100_000),
            types: "A",
            status: 200,
            outcome: "NOERROR",
            source: "zone",
            octets: 1,
            time: .zero
        )
        // Nothing is written before the log runs.
        for _ in 0..<100 { log.add(record) }
        log.finish()
        await log.run()
        let text = try String(contentsOfFile: "\(folder)/log", encoding: .utf8)
        #expect(text.utf8.count <= AccessLog.capacity + 100)
        let lines = text.split(separator: "\n")
        #expect(lines.last?.hasSuffix(" \(100 - (lines.count - 1)) lines were dropped") == true)
        #expect(lines.count > 10)
    }
}
