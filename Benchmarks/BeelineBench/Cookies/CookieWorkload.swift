// SPDX-License-Identifier: Apache-2.0

import LibC
import Names

/// A workload file: cookies to fill a jar with, URLs to look up, cookies to store into the full jar.
struct CookieWorkload {
    /// A Set-Cookie field, as a place in `octets`, and the URL that it comes from.
    struct Store {
        let url: HTTPURL
        let field: Range<Int>
    }

    private(set) var name = ""
    /// How many of the lookups are compared with the expected headers.
    private(set) var verified = 0
    private(set) var fill: [Store] = []
    private(set) var lookUps: [HTTPURL] = []
    private(set) var stores: [Store] = []
    /// The fields of all, one behind the other.
    private var octets: [UInt8] = []

    init(path: String) throws {
        guard let file = fopen(path, "r") else { throw BenchError(message: "cannot read \(path)") }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        octets.reserveCapacity(ftell(file))
        rewind(file)
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while true {
            let count = getline(&line, &capacity, file)
            guard count > 0, let line else { break }
            try line.withMemoryRebound(to: UInt8.self, capacity: count) { start in
                let line = UnsafeBufferPointer(start: start, count: start[count - 1] == 0x0a ? count - 1 : count)
                let fields = line.split(separator: 0x09).map { UnsafeBufferPointer(rebasing: $0) }
                let text = String(decoding: fields[1], as: UTF8.self)
                let kind = fields[0][0]
                switch kind {
                case UInt8(ascii: "F"), UInt8(ascii: "S"):
                    let field = fields[2]
                    let start = octets.count
                    octets += field
                    let store = Store(url: try HTTPURL(text), field: start..<octets.count)
                    if kind == UInt8(ascii: "F") { fill.append(store) } else { stores.append(store) }
                case UInt8(ascii: "L"):
                    lookUps.append(try HTTPURL(text))
                default:
                    begin(text)
                }
            }
        }
    }

    /// Reads the line that describes the file. Room is made for all at once: what is measured is the jar's memory.
    private mutating func begin(_ text: String) {
        name = Self.value(of: "name", in: text)
        let number = { (key: String) in Int(Self.value(of: key, in: text)) ?? 0 }
        verified = number("verify")
        fill.reserveCapacity(number("n"))
        lookUps.reserveCapacity(number("lookups"))
        stores.reserveCapacity(number("stores"))
    }

    /// The octets of a field.
    func octets(of field: Range<Int>) -> [UInt8] { Array(octets[field]) }

    private static func value(of key: String, in json: String) -> String {
        guard let part = json.split(separator: "\"\(key)\": ").dropFirst().first else { return "" }
        return String(part.drop { $0 == "\"" }.prefix { $0 != "\"" && $0 != "," && $0 != "}" })
    }
}

/// Why a benchmark could not run.
struct BenchError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
