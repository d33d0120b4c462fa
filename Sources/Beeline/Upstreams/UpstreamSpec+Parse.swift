// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension UpstreamSpec {
    /// Reads a SPEC as the command's `--dns` takes it: `dnspod[:ADDR[:PORT]]`, `doh:URL[#ADDR,ADDR]`, `system`, `hosts:FILE`.
    ///
    /// - Throws: `UpstreamError` with code `misconfigured` that says what is wrong with it.
    public init(parsing spec: String) throws(UpstreamError) {
        let colon = spec.firstIndex(of: ":") ?? spec.endIndex
        let rest = String(spec[colon...].dropFirst())
        switch (String(spec[..<colon]), rest.isEmpty) {
        case ("system", true): self = .system
        case ("dnspod", true): self = .dnspod()
        case ("dnspod", false):
            guard let endpoint = try? Endpoint(parsing: rest, defaultPort: 80) else {
                throw Self.wrong(spec, "\"\(rest)\" is no ADDR or ADDR:PORT")
            }
            self = .dnspod([endpoint])
        case ("doh", false): self = try Self.doh(spec, rest)
        case ("hosts", false):
            do {
                self = .hosts(HostsTable(parsing: try String(contentsOfFile: rest, encoding: .utf8)))
            } catch {
                throw Self.wrong(spec, "the file cannot be read")
            }
        default:
            throw Self.wrong(spec, "write dnspod, dnspod:ADDR, doh:URL, doh:URL#ADDR, system or hosts:FILE")
        }
    }

    private static func doh(_ spec: String, _ rest: String) throws(UpstreamError) -> UpstreamSpec {
        let parts = rest.split(separator: "#", maxSplits: 1)
        var addresses: [IPAddress] = []
        for text in parts.dropFirst().first?.split(separator: ",") ?? [] {
            guard let address = IPAddress(String(text)) else { throw wrong(spec, "\"\(text)\" is no address") }
            addresses.append(address)
        }
        do {
            return .doh(try HTTPURL(parts.first ?? ""), at: addresses)
        } catch {
            throw wrong(spec, error.message)
        }
    }

    private static func wrong(_ spec: String, _ why: String) -> UpstreamError {
        UpstreamError(.misconfigured, "upstream \"\(spec)\": \(why)")
    }
}
