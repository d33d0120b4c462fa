// SPDX-License-Identifier: Apache-2.0

/// Parses the sizes and rates of options.
enum ByteCount {
    /// Parses a number of bytes: `200K`, `2.5M`, `1G`, in units of 1024.
    ///
    /// - Throws: ``CommandFailure`` if the text is not a size or exceeds 64 bits.
    static func parse(_ text: String, option: String) throws(CommandFailure) -> Int64 {
        var number = text[...]
        let powers: [Character: Int] = ["b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5]
        var power = 0
        if let unit = number.last, let known = powers[Character(unit.lowercased())] {
            power = known
            number.removeLast()
        }
        let factor = Int64(1) << (10 * power)
        if let whole = Int64(number), whole >= 0, !number.hasPrefix("+") {
            let product = whole.multipliedReportingOverflow(by: factor)
            if !product.overflow { return product.partialValue }
        } else if number.allSatisfy({ ("0"..."9").contains($0) || $0 == "." }), let fraction = Double(number) {
            return Int64(clamping: fraction * Double(factor))
        }
        throw CommandFailure(.usage, "\(option) \(text): write bytes, such as 1000, 200K or 2.5M")
    }
}

extension Duration {
    /// Parses the time between two transfers of `--rate`, such as `10/m` and `5/15s`. A number without a unit is per
    /// hour.
    ///
    /// - Throws: ``CommandFailure`` if the text is not a rate.
    init(rate text: String) throws(CommandFailure) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        var span = 3600
        var isValid = true
        if parts.count == 2 {
            let count = parts[1].dropLast()
            let number = count.isEmpty ? 1 : Int(count) ?? 0
            let unit = parts[1].last.flatMap { units[$0] } ?? 0
            let product = number.multipliedReportingOverflow(by: unit)
            span = product.partialValue
            isValid = !product.overflow && (1...315_360_000).contains(span)
        }
        guard isValid, let number = Int(parts[0]), (1...1_000_000_000).contains(number) else {
            throw CommandFailure(.usage, "--rate \(text): write a number and a unit of time, such as 3/s or 5/15m")
        }
        self = .seconds(span) / number
    }
}

extension Int64 {
    /// Rounds to the nearest integer and clamps to 64 bits; NaN becomes 0.
    init(clamping number: Double) {
        self = Int64(exactly: number.rounded()) ?? (number > 0 ? .max : number < 0 ? .min : 0)
    }
}
