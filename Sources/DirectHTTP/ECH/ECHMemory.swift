// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import Names

/// Remembers for ten minutes which origins have turned ECH off, each confirmed by a certificate for its public name
/// (RFC 9849 §6.1.6). At most 128 origins.
final class ECHMemory: Sendable {
    private let table = NIOLockedValueBox(ECHTable())

    /// The public name with which an origin has turned ECH off; nil if it has not.
    func rejectedName(of origin: Origin, now: NIODeadline) -> String? {
        table.withLockedValue { $0.rejectedName(of: origin, now: now) }
    }

    func turnOff(_ origin: Origin, publicName: String, now: NIODeadline) {
        table.withLockedValue { $0.turnOff(origin, publicName: publicName, now: now) }
    }

    func forget() { table.withLockedValue { $0 = ECHTable() } }
}

/// The rules of ``ECHMemory``, as a value.
struct ECHTable: Sendable {
    static let maxOrigins = 128
    static let pause = TimeAmount.minutes(10)

    private var origins: [Origin: (publicName: String, until: NIODeadline)] = [:]

    var count: Int { origins.count }

    func rejectedName(of origin: Origin, now: NIODeadline) -> String? {
        guard !origins.isEmpty, let known = origins[origin], known.until > now else { return nil }
        return known.publicName
    }

    mutating func turnOff(_ origin: Origin, publicName: String, now: NIODeadline) {
        if origins[origin] == nil, origins.count >= Self.maxOrigins,
            let first = origins.min(by: { $0.value.until < $1.value.until })
        {
            origins[first.key] = nil
        }
        origins[origin] = (publicName, now + Self.pause)
    }
}
