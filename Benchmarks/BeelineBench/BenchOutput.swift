// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One line of JSON.
struct BenchOutput {
    private var fields: [String] = []

    mutating func add(_ name: String, _ value: String) { fields.append("\"\(name)\": \"\(value)\"") }
    mutating func add(_ name: String, _ value: Int) { fields.append("\"\(name)\": \(value)") }
    mutating func add(_ name: String, _ value: Double) {
        fields.append("\"\(name)\": \((value * 10).rounded() / 10)")
    }

    func print() { Swift.print("{\(fields.joined(separator: ", "))}") }

    /// Says something on standard error.
    static func note(_ text: String) {
        let line = text + "\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
    }
}

/// What the process has used of the processor.
enum ProcessTime {
    static func microseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
    }
}
