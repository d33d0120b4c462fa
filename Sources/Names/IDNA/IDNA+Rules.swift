// SPDX-License-Identifier: Apache-2.0

extension IDNA {
    /// Checks the validity criteria of a label (UTS #46 §4.1), except for the bidi rule, which depends on the whole domain.
    static func checkLabel(_ label: [UInt32]) throws(Failure) {
        guard label.contains(where: { $0 >= 0x80 }) else { return }
        if label.starts(with: prefix) {
            throw Failure("its label \(quoted(label)) starts with xn-- and is not ASCII")
        }
        if let first = label.first, IDNATables.properties(of: first).isMark {
            throw Failure("its label \(quoted(label)) starts with a combining mark (\(name(first)))")
        }
        for (index, scalar) in label.enumerated() where scalar >= 0x80 {
            // Decoded labels are not mapped, so every scalar must be valid by itself; a scalar that mapping would change is
            // also an error.
            guard case .valid = IDNATables.mapping(of: scalar) else {
                throw Failure("\(name(scalar)) is not allowed in a domain")
            }
            if scalar == 0x200c || scalar == 0x200d, !isJoinerAllowed(label, at: index) {
                throw Failure("its label \(quoted(label)) has a misplaced invisible joiner (\(name(scalar)))")
            }
        }
    }

    /// The joiner rules of RFC 5892 Appendix A.1 (U+200C) and A.2 (U+200D).
    private static func isJoinerAllowed(_ label: [UInt32], at index: Int) -> Bool {
        if index > 0, IDNATables.properties(of: label[index - 1]).isVirama { return true }
        guard label[index] == 0x200c else { return false }
        let joining = { (scalar: UInt32) in IDNATables.properties(of: scalar).joining }
        let before = label[..<index].reversed().lazy.map(joining).first { $0 != .transparent }
        let after = label[(index + 1)...].lazy.map(joining).first { $0 != .transparent }
        return (before == .left || before == .dual) && (after == .right || after == .dual)
    }

    /// Whether the label makes its domain a Bidi domain name (RFC 5893 §1.4).
    static func isRightToLeft(_ label: [UInt32]) -> Bool {
        label.contains { scalar in
            switch IDNATables.properties(of: scalar).bidi {
            case .right, .arabicLetter, .arabicNumber: true
            default: false
            }
        }
    }

    /// Checks the bidi rule (RFC 5893 §2) for one label of a Bidi domain name.
    static func checkBidi(_ label: [UInt32]) throws(Failure) {
        let classes = label.map { IDNATables.properties(of: $0).bidi }
        guard let first = classes.first else { return }
        guard let last = classes.last(where: { $0 != .nonspacingMark }) else {
            throw Failure("its label \(quoted(label)) breaks the bidi rule (RFC 5893 §2)")
        }
        let holds: Bool
        switch first {
        case .right, .arabicLetter:
            let ends = [.right, .arabicLetter, .europeanNumber, .arabicNumber].contains(last)
            let mixes = classes.contains(.europeanNumber) && classes.contains(.arabicNumber)
            holds = ends && !mixes && !classes.contains(.left)
        case .left:
            let strangers: [IDNATables.BidiClass] = [.right, .arabicLetter, .arabicNumber]
            holds = (last == .left || last == .europeanNumber) && !classes.contains(where: strangers.contains)
        default:
            holds = false
        }
        guard holds else { throw Failure("its label \(quoted(label)) breaks the bidi rule (RFC 5893 §2)") }
    }
}
