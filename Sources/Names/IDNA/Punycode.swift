// SPDX-License-Identifier: Apache-2.0

/// Punycode (RFC 3492) with the parameters of IDNA.
enum Punycode {
    private static let base: UInt32 = 36
    private static let tMin: UInt32 = 1
    private static let tMax: UInt32 = 26
    private static let initialBias: UInt32 = 72
    private static let initialScalar: UInt32 = 128
    /// The longest label without its prefix, in octets: the 63 of RFC 1035 §2.3.4 minus `xn--`.
    private static let maxLength = 59

    /// Decodes a label without its `xn--` prefix (RFC 3492 §6.2).
    static func decode(_ label: some Collection<UInt32>) throws(IDNA.Failure) -> [UInt32] {
        let malformed = IDNA.Failure("its label \(IDNA.quoted(IDNA.prefix + label)) is not Punycode (RFC 3492)")
        // Without this bound, the quadratic insertions below could take too long.
        guard label.count <= maxLength, label.allSatisfy({ $0 < 0x80 }) else { throw malformed }
        let code = Array(label)
        // A leading hyphen is not a delimiter; it is then an invalid digit.
        let delimiter = code.lastIndex(of: 0x2d).flatMap { $0 > 0 ? $0 : nil }
        var output = delimiter.map { Array(code[..<$0]) } ?? []
        var rest = code[(delimiter.map { $0 + 1 } ?? 0)...]
        var scalar = initialScalar
        var index: UInt32 = 0
        var bias = initialBias
        while !rest.isEmpty {
            let before = index
            var weight: UInt32 = 1
            for step in 1... {
                guard let digit = rest.popFirst().flatMap(digit) else { throw malformed }
                let (product, tooLong) = digit.multipliedReportingOverflow(by: weight)
                let (sum, tooLarge) = index.addingReportingOverflow(product)
                guard !tooLong, !tooLarge else { throw malformed }
                index = sum
                let threshold = threshold(step, bias)
                if digit < threshold { break }
                let (next, overflow) = weight.multipliedReportingOverflow(by: base - threshold)
                guard !overflow else { throw malformed }
                weight = next
            }
            let count = UInt32(output.count) + 1
            bias = adapted(index - before, count: count, isFirst: before == 0)
            let (sum, overflow) = scalar.addingReportingOverflow(index / count)
            guard !overflow, Unicode.Scalar(sum) != nil else { throw malformed }
            scalar = sum
            index %= count
            output.insert(scalar, at: Int(index))
            index += 1
        }
        return output
    }

    /// Encodes scalars as an A-label without the `xn--` prefix (RFC 3492 §6.3). Throws if ``decode(_:)`` would not take it.
    static func encode(_ label: [UInt32]) throws(IDNA.Failure) -> [UInt8] {
        var output = label.filter { $0 < 0x80 }.map { UInt8(truncatingIfNeeded: $0) }
        let basic = UInt32(output.count)
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var handled = basic
        var scalar = initialScalar
        var delta: UInt32 = 0
        var bias = initialBias
        while handled < label.count {
            guard let next = label.lazy.filter({ $0 >= scalar }).min() else { break }
            let (product, tooLong) = (next - scalar).multipliedReportingOverflow(by: handled + 1)
            let (sum, tooLarge) = delta.addingReportingOverflow(product)
            // Stop early to bound the loop.
            guard !tooLong, !tooLarge, output.count <= maxLength else { throw tooLongLabel }
            delta = sum
            scalar = next
            for other in label {
                if other < scalar { delta += 1 }
                guard other == scalar else { continue }
                append(delta, bias, to: &output)
                bias = adapted(delta, count: handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta += 1
            scalar += 1
        }
        guard output.count <= maxLength else { throw tooLongLabel }
        return output
    }

    private static let tooLongLabel = IDNA.Failure("one of its labels has more than 63 octets")

    private static func append(_ delta: UInt32, _ bias: UInt32, to output: inout [UInt8]) {
        var rest = delta
        for step in 1... {
            let threshold = threshold(step, bias)
            if rest < threshold { break }
            output.append(letter(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
        }
        output.append(letter(rest))
    }

    private static func threshold(_ step: Int, _ bias: UInt32) -> UInt32 {
        let place = UInt32(step) * base
        return place <= bias ? tMin : min(place - bias, tMax)
    }

    /// The bias for the next delta (RFC 3492 §6.1).
    private static func adapted(_ delta: UInt32, count: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var steps: UInt32 = 0
        while delta > (base - tMin) * tMax / 2 {
            delta /= base - tMin
            steps += base
        }
        return steps + base * delta / (delta + 38)
    }

    private static func digit(_ scalar: UInt32) -> UInt32? {
        switch scalar {
        case 0x61...0x7a: scalar - 0x61
        case 0x41...0x5a: scalar - 0x41
        case 0x30...0x39: scalar - 0x30 + 26
        default: nil
        }
    }

    private static func letter(_ digit: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: digit < 26 ? digit + 0x61 : digit - 26 + 0x30)
    }
}
