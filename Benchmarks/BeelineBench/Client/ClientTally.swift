// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import NIOCore

/// What one caller got, or all of them together.
struct ClientTally: Sendable {
    /// How long each request took that was answered.
    var microseconds: [UInt32] = []
    var bytes = 0
    var errors = 0
    var newConnections = 0

    /// Sends one request after the other until the time is over, or until a hundred have failed.
    static func fill(from caller: any ClientCaller, until end: NIODeadline) async -> ClientTally {
        var tally = ClientTally()
        var begin = NIODeadline.now()
        while begin < end, tally.errors < 100 {
            do {
                let (bytes, isNew) = try await caller.get()
                tally.bytes += bytes
                if isNew { tally.newConnections += 1 }
                let now = NIODeadline.now()
                tally.microseconds.append(UInt32(clamping: (now - begin).nanoseconds / 1_000))
                begin = now
            } catch {
                if tally.errors == 0 { BenchOutput.note("\(error)") }
                tally.errors += 1
                begin = .now()
            }
        }
        return tally
    }

    mutating func add(_ other: ClientTally) {
        microseconds += other.microseconds
        bytes += other.bytes
        errors += other.errors
        newConnections += other.newConnections
    }

    /// Of sorted times.
    func percentile(_ percent: Int) -> Int {
        microseconds.isEmpty ? 0 : Int(microseconds[microseconds.count * percent / 100])
    }
}
