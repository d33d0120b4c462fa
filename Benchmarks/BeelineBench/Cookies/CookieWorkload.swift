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
    /// A Set-Cookie field, as a place in `octets`, and the URL that it comes from.
    struct Store {
        let url: HTTPURL
        let field: Range<Int>
    }

    private(set) var name = ""
    /// How many of the look-ups are compared with the expected headers.
    private(set) var verified = 0
    private(set) var fill: [Store] = []
    private(set) var lookUps: [HTTPURL] = []
    private(set) var stores: [Store] = []
    let octets: UnsafeBufferPointer<UInt8>

    init(path: String) throws {
        octets = try Self.map(path)
        var start = 0
        while start < octets.count {
            let end = octets[start...].firstIndex(of: 0x0a) ?? octets.count
            let fields = octets[start..<end].split(separator: 0x09)
            let text = { (index: Int) in String(decoding: fields[index], as: UTF8.self) }
            switch text(0) {
            case "F": fill.append(Store(url: try HTTPURL(text(1)), field: fields[2].startIndex..<fields[2].endIndex))
            case "S": stores.append(Store(url: try HTTPURL(text(1)), field: fields[2].startIndex..<fields[2].endIndex))
            case "L": lookUps.append(try HTTPURL(text(1)))
            default:
                name = Self.value(of: "name", in: text(1))
                verified = Int(Self.value(of: "verify", in: text(1))) ?? 0
            }
            start = end + 1
        }
    }

    private static func value(of key: String, in json: String) -> String {
        guard let part = json.split(separator: "\"\(key)\": ").dropFirst().first else { return "" }
        return String(part.drop { $0 == "\"" }.prefix { $0 != "\"" && $0 != "," && $0 != "}" })
    }

    /// The file, mapped rather than read: it is the harness's, not the jar's.
    private static func map(_ path: String) throws -> UnsafeBufferPointer<UInt8> {
        let descriptor = open(path, O_RDONLY)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0,
            let memory = mmap(nil, Int(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0), memory != MAP_FAILED
        else { throw BenchError(message: "cannot read \(path)") }
        close(descriptor)
        return UnsafeBufferPointer(start: memory.assumingMemoryBound(to: UInt8.self), count: Int(status.st_size))
    }
}

/// Why a benchmark could not run.
struct BenchError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
