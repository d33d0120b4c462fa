// SPDX-License-Identifier: Apache-2.0

import BeelineTesting

/// Random numbers and inputs from a seed, the same on every run.
struct Fuzz {
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// The number of inputs: `BEELINE_FUZZ`, or a number that suits the ordinary suite.
    static var rounds: Int { FuzzRounds.count(ordinary: 20_000) }

    mutating func next() -> UInt64 { random.next() }

    mutating func below(_ bound: Int) -> Int {
        Int(next() % UInt64(max(1, bound)))
    }

    /// Returns one of the seeds with a few octets changed, removed, repeated or cut off.
    mutating func mutate(_ seeds: [[UInt8]]) -> [UInt8] {
        var octets = seeds[below(seeds.count)]
        for _ in 0...below(4) {
            let at = below(octets.count)
            switch below(7) {
            case 0 where !octets.isEmpty: octets[at] = UInt8(truncatingIfNeeded: next())
            case 1 where !octets.isEmpty: octets[at] ^= 1 << UInt8(below(8))
            case 2 where !octets.isEmpty: octets.remove(at: at)
            case 3: octets.insert(UInt8(truncatingIfNeeded: next()), at: at)
            case 4: octets = Array(octets.prefix(at))
            case 5 where octets.count < 4_096:
                let other = seeds[below(seeds.count)]
                octets.insert(contentsOf: other.prefix(below(other.count + 1)), at: at)
            default:
                if !octets.isEmpty { octets[at] = [0, 0xff, 0xc0, 0x3f, 0x40, 1][below(6)] }
            }
        }
        return octets
    }
}
