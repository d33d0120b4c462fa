// SPDX-License-Identifier: Apache-2.0

// beeline-fuzz list                     the decoders, a line each
// beeline-fuzz seeds NAME FOLDER        writes the decoder's first inputs into the folder
// beeline-fuzz run NAME [LIBFUZZER'S ARGUMENTS]
//
// Scripts/fuzz builds it and runs all decoders; it says with which limits.

import CLibFuzzer
import Foundation

let arguments = CommandLine.arguments

func fuzzer(named name: String) -> Fuzzer {
    guard let found = Fuzzer.all.first(where: { $0.name == name }) else {
        print("beeline-fuzz: there is no decoder \(name); beeline-fuzz list names them")
        exit(64)
    }
    return found
}

/// The decoder of this run; libFuzzer's callback has no place for a context.
nonisolated(unsafe) var current: Fuzzer?

switch (arguments.dropFirst().first, arguments.count) {
case ("list", 2):
    for fuzzer in Fuzzer.all { print(fuzzer.name) }
case ("seeds", 4):
    for (number, seed) in fuzzer(named: arguments[2]).seeds.enumerated() {
        try Data(seed).write(to: URL(fileURLWithPath: arguments[3]).appendingPathComponent("seed-\(number)"))
    }
case ("run", 3...):
    current = fuzzer(named: arguments[2])
    var strings: [UnsafeMutablePointer<CChar>?] = ([arguments[0]] + arguments.dropFirst(3)).map { strdup($0) } + [nil]
    var count = Int32(strings.count - 1)
    let status = strings.withUnsafeMutableBufferPointer { buffer in
        var start = buffer.baseAddress
        return LLVMFuzzerRunDriver(&count, &start) { bytes, count in
            try? current?.decode(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        }
    }
    exit(status)
default:
    print("usage: beeline-fuzz list | seeds NAME FOLDER | run NAME [ARGUMENTS]")
    exit(64)
}
