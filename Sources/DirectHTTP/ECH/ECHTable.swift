// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Remembers for ten minutes which origins have turned ECH off, each confirmed by a certificate for its public name
/// (RFC 9849 §6.1.6). At most 128 rejections.
///
/// A rejection applies only to the list that was offered. The public name in a list from plain DNS may be an
/// attacker's. Its rejection must not turn off a list from an authenticated source. The retry configurations of servers
/// are not remembered, because the RFC forbids it: a server could recognize a client by them.
struct ECHTable: Sendable {
    static let maxRejections = 128
    /// Longer lists are not remembered. Usual ones have about 70 bytes.
    static let maxListBytes = 4096
    static let pause = TimeAmount.minutes(10)

    private struct Key: Hashable {
        var origin: Origin
        var list: ECHConfigList
    }

    private var rejections: [Key: (publicName: String, until: NIODeadline)] = [:]

    var count: Int { rejections.count }

    func rejectedName(of origin: Origin, list: ECHConfigList, now: NIODeadline) -> String? {
        guard !rejections.isEmpty, let known = rejections[Key(origin: origin, list: list)], known.until > now else {
            return nil
        }
        return known.publicName
    }

    mutating func turnOff(_ origin: Origin, list: ECHConfigList, publicName: String, now: NIODeadline) {
        guard list.bytes.count <= Self.maxListBytes else { return }
        let key = Key(origin: origin, list: list)
        if rejections[key] == nil, rejections.count >= Self.maxRejections,
            let first = rejections.min(by: { $0.value.until < $1.value.until })
        {
            rejections[first.key] = nil
        }
        rejections[key] = (publicName, now + Self.pause)
    }
}
