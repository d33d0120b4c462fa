// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Mutated inputs for every parser of this module. None traps, and a printed value parses to the same value.
///
/// `BEELINE_FUZZ=N` sets the number of inputs for each parser.
@Suite("Fuzz: names")
struct NamesFuzzTests {
    @Test("a host of any text is rejected, or prints as ASCII text that parses to the same host")
    func hosts() {
        var inputs = Inputs(seed: 1, tokens: Self.hostTokens)
        for _ in 0..<Inputs.count {
            let text = inputs.next()
            guard let host = try? Host(text) else { continue }
            #expect((try? Host(host.text)) == host, "\(text.debugDescription)")
            #expect((try? Host(host.urlForm)) == host, "\(text.debugDescription)")
            #expect(host.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }, "\(text.debugDescription)")
        }
    }

    @Test("addresses, networks and endpoints of any text are rejected, or print as text that parses to the same value")
    func addresses() {
        var inputs = Inputs(
            seed: 2,
            tokens: ["0", "1", "255", "256", ".", ":", "::", "ffff", "abcd", "/", "[", "]", "%"]
        )
        for _ in 0..<Inputs.count {
            let text = inputs.next()
            if let address = IPAddress(text) {
                #expect(IPAddress(address.description) == address)
                #expect(IPAddress(octets: address.octets) == address)
                #expect(!(address.isGloballyReachable && (address.isLoopback || address.isPrivate)))
            }
            if let network = IPNetwork(text) {
                #expect(IPNetwork(network.description) == network)
                #expect(network.contains(network.first) && network.contains(network.last))
            }
            if let endpoint = Endpoint(text) { #expect(Endpoint(endpoint.description) == endpoint) }
        }
    }

    @Test("URLs and references of any text are rejected, or print as ASCII text that parses to the same URL")
    func urls() throws {
        var inputs = Inputs(seed: 3, tokens: Self.hostTokens + Self.urlTokens)
        let base = try HTTPURL("https://base.example/a/b?c#d")
        for _ in 0..<Inputs.count {
            let text = inputs.next()
            for url in [try? HTTPURL(text), try? HTTPURL("http://" + text), try? base.resolving(text)] {
                guard let url else { continue }
                let again = try? HTTPURL(url.description)
                #expect(again?.description == url.description, "\(text.debugDescription)")
                #expect(again?.origin == url.origin && again?.target == url.target, "\(text.debugDescription)")
                #expect(url.description.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }, "\(text.debugDescription)")
                #expect(url.path.utf8.first == UInt8(ascii: "/"))
                #expect(try url.resolving("") == url)
            }
        }
    }

    @Test("a megabyte of text is parsed or rejected in linear time")
    func megabyte() throws {
        let base = try HTTPURL("https://h/")
        for unit in ["a", "../", "%2e/", "ü", "a.", "@", ":", "//", "\\", "[", "?", "#", "\u{301}", "xn--", "1."] {
            let text = String(repeating: unit, count: 1_000_000 / unit.utf8.count)
            #expect(throws: NameError.self) { try HTTPURL("http://" + text) }
            #expect(throws: NameError.self) { try base.resolving(text) }
            #expect(throws: NameError.self) { try Host(text) }
            #expect(IPAddress(text) == nil && IPNetwork(text) == nil && Endpoint(text) == nil)
            // The longest URL that is parsed at all.
            _ = try? HTTPURL("http://h/" + text.prefix(HTTPURL.maxLength / unit.utf8.count - 10))
        }
    }

    private static let hostTokens = [
        "a", "Z", "example", ".", "。", "-", "_", "xn--", "bcher-kva", "ü", "u\u{308}", "ß", "中", "א", "ا", "٠",
        "\u{200d}",
        "\u{200c}", "\u{ad}", "\u{301}", "क्", "한", "\u{1112}\u{1161}", "0", "1", "0x7f", "08", "256", "4294967295", ":",
        "::", "[", "]", "%", "%41", "%C3%BC", "%00", "%2e", "１", "℀", "\u{fffd}", "\u{10ffff}", "😀", "İ",
    ]
    private static let urlTokens = [
        "http", "https", "ws", "://", "//", "/", "/", "/", "?", "#", "@", "u:p@", ":80", ":0", "..", ".", "%2E", "\\",
        " ",
        "\n", "\t", "\0", "\"", "<", "{", "|", "^", "`", "'", "~", "&", "=", ";", "+",
    ]
}

/// Texts of random tokens, some with one scalar changed. The seed makes each run the same.
private struct Inputs {
    /// The number of inputs for each parser.
    static var count: Int { ProcessInfo.processInfo.environment["BEELINE_FUZZ"].flatMap { Int($0) } ?? 20_000 }

    private let tokens: [String]
    private var state: UInt64

    init(seed: UInt64, tokens: [String]) {
        self.tokens = tokens
        state = seed
    }

    mutating func next() -> String {
        var text = (0..<random(10)).map { _ in tokens[random(tokens.count)] }.joined()
        if random(4) == 0, !text.isEmpty {
            var scalars = Array(text.unicodeScalars)
            scalars[random(scalars.count)] = Unicode.Scalar(UInt32(random(0x11_0000))) ?? "x"
            text = String(String.UnicodeScalarView(scalars))
        }
        return text
    }

    /// SplitMix64.
    private mutating func random(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return Int(truncatingIfNeeded: (mixed ^ mixed >> 31) % UInt64(bound))
    }
}
