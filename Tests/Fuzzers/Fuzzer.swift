// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer

/// One decoder of bytes from outside, with inputs to begin from.
struct Fuzzer: Sendable {
    let name: String
    let seeds: [[UInt8]]
    /// Decodes the bytes. An error is a good answer; `violation` reports a broken promise.
    let decode: @Sendable ([UInt8]) throws -> Void

    init(_ name: String, seeds: [[UInt8]], decode: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.seeds = seeds
        self.decode = decode
    }

    init(_ name: String, texts: [String], decode: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.init(name, seeds: texts.map { Array($0.utf8) }, decode: decode)
    }

    static let all = http + names + cookies + proxy + server + browsers
}

/// Ends the program, so that libFuzzer keeps the input that led here.
func violation(_ what: String) -> Never {
    preconditionFailure(what)
}
