// SPDX-License-Identifier: Apache-2.0

extension IDNA {
    /// Unicode's normalization form C (UAX #15). Uses the compiled data because the system's Unicode version varies.
    static func normalized(_ text: [UInt32]) -> [UInt32] {
        guard text.contains(where: { $0 >= 0x300 }) else { return text }
        return compose(decompose(text))
    }

    private struct Element {
        let scalar: UInt32
        let combiningClass: UInt32

        init(_ scalar: UInt32) {
            self.scalar = scalar
            combiningClass = scalar < 0x300 ? 0 : IDNATables.properties(of: scalar).combiningClass
        }
    }

    private static func decompose(_ text: [UInt32]) -> [Element] {
        var result: [Element] = []
        result.reserveCapacity(text.count + 8)
        for scalar in text {
            if let syllable = Hangul(syllable: scalar) {
                result += syllable.parts.map(Element.init)
            } else if let parts = IDNATables.decomposition(of: scalar) {
                result += parts.map(Element.init)
            } else {
                result.append(Element(scalar))
            }
        }
        sortMarks(&result)
        return result
    }

    /// Applies the canonical ordering: sorts the marks between two starters by class and keeps the order of equal classes.
    private static func sortMarks(_ text: inout [Element]) {
        var start = 0
        while start < text.count {
            guard text[start].combiningClass > 0 else {
                start += 1
                continue
            }
            let end = text[start...].firstIndex { $0.combiningClass == 0 } ?? text.count
            // The standard library's sort is stable. The host's maximum length bounds the run.
            text[start..<end].sort { $0.combiningClass < $1.combiningClass }
            start = end
        }
    }

    private static func compose(_ text: [Element]) -> [UInt32] {
        var result: [UInt32] = []
        result.reserveCapacity(text.count)
        var starter: Int?
        // The class of the last scalar kept after the starter; nil if there is none, so that nothing blocks composition.
        var blocker: UInt32?
        for element in text {
            let isBlocked = blocker.map { $0 >= element.combiningClass } ?? false
            if let starter, !isBlocked, let composite = composite(result[starter], element.scalar) {
                result[starter] = composite
                continue
            }
            if element.combiningClass == 0 {
                starter = result.count
                blocker = nil
            } else {
                blocker = element.combiningClass
            }
            result.append(element.scalar)
        }
        return result
    }

    private static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
        Hangul.composite(first, second) ?? IDNATables.composition(of: first, second)
    }
}

/// The arithmetic of Hangul syllables (The Unicode Standard §3.12).
private struct Hangul {
    private static let syllables: Range<UInt32> = 0xac00..<0xd7a4
    private static let leading: Range<UInt32> = 0x1100..<0x1113
    private static let vowels: Range<UInt32> = 0x1161..<0x1176
    /// The first trailing consonant is at index 1; index 0 means that there is none.
    private static let trailing: Range<UInt32> = 0x11a7..<0x11c3

    /// The two or three jamo of a syllable.
    let parts: [UInt32]

    init?(syllable: UInt32) {
        guard Self.syllables.contains(syllable) else { return nil }
        let index = syllable - Self.syllables.lowerBound
        let tail = index % 28
        parts =
            [Self.leading.lowerBound + index / 588, Self.vowels.lowerBound + index % 588 / 28]
            + (tail == 0 ? [] : [Self.trailing.lowerBound + tail])
    }

    static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
        if leading.contains(first), vowels.contains(second) {
            return syllables.lowerBound + (first - leading.lowerBound) * 588 + (second - vowels.lowerBound) * 28
        }
        if syllables.contains(first), (first - syllables.lowerBound) % 28 == 0,
            trailing.dropFirst().contains(second)
        {
            return first + second - trailing.lowerBound
        }
        return nil
    }
}
