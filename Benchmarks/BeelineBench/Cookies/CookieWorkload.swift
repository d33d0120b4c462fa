// SPDX-License-Identifier: Apache-2.0

import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A workload file: cookies to fill a jar with, URLs to look up, cookies to store into the full jar.
struct CookieWorkload {
    /// A Set-Cookie field and the URL that it comes from.
    struct Store {
        let url: HTTPURL
        let field: UnsafeBufferPointer<UInt8>
    }

    private(set) var name = ""
    /// How many of the look-ups are compared with the expected headers.
    private(set) var verified = 0
    private(set) var fill: [Store] = []
    private(set) var lookUps: [HTTPURL] = []
    private(set) var stores: [Store] = []

    init(path: String) throws {
        guard let file = fopen(path, "r") else { throw BenchError(message: "cannot read \(path)") }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while true {
            let count = getline(&line, &capacity, file)
            guard count > 0, let line else { break }
            try line.withMemoryRebound(to: UInt8.self, capacity: count) { start in
                let octets = UnsafeBufferPointer(start: start, count: start[count - 1] == 0x0a ? count - 1 : count)
                let fields = octets.split(separator: 0x09).map { UnsafeBufferPointer(rebasing: $0) }
                let text = String(decoding: fields[1], as: UTF8.self)
                switch fields[0][0] {
                case UInt8(ascii: "F"): fill.append(Store(url: try HTTPURL(text), field: Self.copy(fields[2])))
                case UInt8(ascii: "S"): stores.append(Store(url: try HTTPURL(text), field: Self.copy(fields[2])))
                case UInt8(ascii: "L"): lookUps.append(try HTTPURL(text))
                default:
                    name = Self.value(of: "name", in: text)
                    verified = Int(Self.value(of: "verify", in: text)) ?? 0
                }
            }
        }
    }

    private static func copy(_ octets: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: octets.count)
        _ = copy.initialize(from: octets)
        return UnsafeBufferPointer(copy)
    }

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
