// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer

/// A decoder of external bytes, with seed inputs.
struct Fuzzer: Sendable {
    let name: String
    let seeds: [[UInt8]]
    /// Decodes the bytes. A thrown error is a valid result; `violation` reports a broken guarantee.
    let decode: @Sendable ([UInt8]) throws -> Void

    init(_ name: String, seeds: [[UInt8]], decode: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.seeds = seeds
        self.decode = decode
    }

    init(_ name: String, texts: [String], decode: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.init(name, seeds: texts.map { Array($0.utf8) }, decode: decode)
    }

    static let all = http + client + names + cookies + proxy + server + browsers + drivers + files + redis
}

/// Traps, so that libFuzzer saves the input that broke the guarantee.
func violation(_ what: String) -> Never {
    preconditionFailure(what)
}
