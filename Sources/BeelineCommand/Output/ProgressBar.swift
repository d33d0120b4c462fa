// SPDX-License-Identifier: Apache-2.0

/// Formats the progress line of a download. It does no I/O, so that tests can check the text.
struct ProgressBar {
    /// The minimum time between two updates.
    static let interval = Duration.milliseconds(100)

    private let name: String
    /// The number of bytes already in the file of a resumed download.
    private let offset: Int64
    /// The total number of bytes; nil if the server does not send it.
    private let total: Int64?
    private let begin: Duration
    /// Whether the line is the bar of `-#` only.
    private let isPlain: Bool
    private var lastDrawn: Duration?

    /// - Parameters:
    ///   - name: the name of the download.
    ///   - offset: the number of bytes already present.
    ///   - expected: the number of bytes to receive; nil if the server does not send it.
    ///   - now: the current time, from any origin.
    ///   - isPlain: draws the bar of `-#`.
    init(name: String, offset: Int64 = 0, expected: Int64?, now: Duration, isPlain: Bool = false) {
        self.name = name
        self.offset = offset
        // The server controls this value, so the sum may overflow.
        let sum = expected?.addingReportingOverflow(offset)
        total = sum.flatMap { $0.overflow ? nil : $0.partialValue }
        begin = now
        self.isPlain = isPlain
    }

    /// Returns the line to draw; nil if the last update is too recent.
    mutating func line(received: Int64, now: Duration, width: Int, isLast: Bool = false) -> String? {
        if let lastDrawn, now - lastDrawn < Self.interval, !isLast { return nil }
        lastDrawn = now
        let elapsed = (now - begin).seconds
        let speed = elapsed > 0 ? Double(received) / elapsed : 0
        let sum = offset.addingReportingOverflow(received)
        let have = sum.overflow ? .max : sum.partialValue
        if isPlain { return plainLine(have, width) }
        var figures = Self.bytes(Double(have))
        if let total { figures += " of \(Self.bytes(Double(total)))" }
        figures += "  \(Self.bytes(speed))/s"
        guard let total, total > 0 else { return fitted(name + "  " + figures, width) }
        if isLast {
            figures += "  \(Self.time(elapsed))"
        } else if speed > 0 {
            figures += "  \(Self.time((Double(total) - Double(have)) / speed)) left"
        }
        let share = min(1, Double(have) / Double(total))
        let percent = "\(Int(share * 100))%".leftPadded(to: 4, with: " ")
        let head = "\(name)  \(percent) "
        // Leave the last column empty, because some terminals wrap after writing to it.
        let room = width - head.count - figures.count - 5
        guard room >= 10 else { return fitted(head + " " + figures, width) }
        let cells = min(room, 40)
        let filled = Int(share * Double(cells))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: cells - filled)
        return "\(head)[\(bar)]  \(figures)"
    }

    /// The bar of `-#`: number signs and the percentage. Without a total, the size.
    private func plainLine(_ have: Int64, _ width: Int) -> String {
        guard let total, total > 0 else { return fitted("#  " + Self.bytes(Double(have)), width) }
        let share = min(1, Double(have) / Double(total))
        let tenths = Int(share * 1000)
        let percent = "\(tenths / 10).\(tenths % 10)%"
        let cells = max(0, width - 8)
        let filled = String(repeating: "#", count: Int(share * Double(cells)))
        let blanks = String(repeating: " ", count: max(0, cells - filled.count + 7 - percent.count))
        return fitted(filled + blanks + percent, width)
    }

    private func fitted(_ line: String, _ width: Int) -> String { String(line.prefix(max(1, width - 1))) }

    /// Formats a size: `512 B`, `1.5 KiB`, `23.4 MiB`.
    static func bytes(_ count: Double) -> String {
        var count = count
        var units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][...]
        while count >= 1023.95, units.count > 1 {
            count /= 1024
            units.removeFirst()
        }
        let unit = units.first ?? "B"
        guard unit != "B" else { return "\(Int(count)) B" }
        let tenths = Int64(clamping: count * 10)
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    /// Formats a duration: `0:07`, `12:34`, `1:02:03`.
    static func time(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 360_000 else { return "--:--" }
        let whole = max(0, Int(seconds.rounded()))
        let two = { (number: Int) in "\(number)".leftPadded(to: 2) }
        let minutes = whole / 60
        return minutes < 60
            ? "\(minutes):\(two(whole % 60))" : "\(minutes / 60):\(two(minutes % 60)):\(two(whole % 60))"
    }
}
