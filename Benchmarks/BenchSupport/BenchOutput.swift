// SPDX-License-Identifier: Apache-2.0

import LibC

/// One line of JSON.
package struct BenchOutput {
    private var fields: [String] = []

    package init() {}

    package mutating func add(_ name: String, _ value: String) { fields.append("\"\(name)\": \"\(value)\"") }
    package mutating func add(_ name: String, _ value: Int) { fields.append("\"\(name)\": \(value)") }
    package mutating func add(_ name: String, _ value: Double, digits: Int = 1) {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        fields.append("\"\(name)\": \((value * scale).rounded() / scale)")
    }

    package func print() { Swift.print("{\(fields.joined(separator: ", "))}") }

    /// Says something on standard error.
    package static func note(_ text: String) {
        let line = text + "\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
    }
}

/// What the process has used of the processor.
package enum ProcessTime {
    package static func microseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
    }
}
