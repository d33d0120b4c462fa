// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// What the benchmarks of one engine take.
struct EngineArguments {
    var url = ""
    var connect = ""
    var count = 1_000
    var tls = TLSSettings()

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            let value = rest.popFirst() ?? ""
            switch option {
            case "--url": url = value
            case "--connect": connect = value
            case "--count": count = Int(value) ?? count
            case "--http": tls.offersHTTP2 = value == "2"
            case "--cafile":
                tls.trustsSystemRoots = false
                tls.rootFiles = [value]
            default: throw BenchError(message: "unknown option \(option)")
            }
        }
    }
}
