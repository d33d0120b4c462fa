// SPDX-License-Identifier: Apache-2.0

// beeline-fuzz list                     prints the names of the decoders, one per line
// beeline-fuzz seeds NAME FOLDER        writes the decoder's seed inputs into the folder
// beeline-fuzz run NAME [ARGUMENTS]     runs libFuzzer with its arguments on the decoder
//
// Scripts/fuzz builds this program and runs all decoders with limits.

import CLibFuzzer
import Foundation

let arguments = CommandLine.arguments

func fuzzer(named name: String) -> Fuzzer {
    guard let found = Fuzzer.all.first(where: { $0.name == name }) else {
        print("beeline-fuzz: unknown decoder \(name); beeline-fuzz list prints the names")
        exit(64)
    }
    return found
}

/// The decoder of this run. A global, because libFuzzer's callback takes no context.
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
