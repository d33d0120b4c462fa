// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The upstreams of some domains, from `--dns-for` and from files in the syntax of dnsmasq or dnsproxy.
///
/// | line | meaning |
/// | --- | --- |
/// | `server=/corp.example/192.0.2.53#5353`, `[/corp.example/]192.0.2.53:5353` | the domain and its subdomains |
/// | `server=/www.corp.example/#`, `[/www.corp.example/]#` | the upstreams of all other names |
/// | `server=192.0.2.1`, `tls://dns.example#192.0.2.1`, `https://192.0.2.1/dns-query` | all other names |
///
/// Other lines of dnsmasq are ignored; the server's lists have `address=`, `local=` and `server=/domain/`.
struct DomainUpstreams: Hashable, Sendable {
    /// The upstreams in the form of `--dns`, by domain. An empty list stands for the upstreams of all other names.
    private(set) var domains: [String: [String]] = [:]
    /// The upstreams of all other names.
    private(set) var others: [String] = []

    /// The maximum number of domains.
    static let maxDomains = 10_000

    /// Adds a value of `--dns-for`: `DOMAIN[,DOMAIN]=SPEC`.
    mutating func add(option text: String) throws(CommandFailure) {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else {
            throw CommandFailure(
                .usage,
                "--dns-for \"\(text)\": write DOMAIN=SPEC, such as corp.example=dns:192.0.2.53"
            )
        }
        for domain in parts[0].split(separator: ",") { try add(String(domain), String(parts[1])) }
    }

    /// Adds the lines of a file.
    mutating func add(file: String, at path: String) throws(CommandFailure) {
        // Editors on Windows write a byte order mark.
        let file = file.hasPrefix("\u{feff}") ? file.dropFirst() : file[...]
        for (index, line) in file.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let text = line.prefix { $0 != " " && $0 != "\t" && $0 != ";" }
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            do throws(CommandFailure) {
                if IPAddress(String(text)) != nil, let name = line.dropFirst(text.count).split(separator: " ").first,
                    !name.hasPrefix("#"), !name.hasPrefix(";"), IPAddress(String(name)) == nil
                {
                    throw CommandFailure(.usage, "\"\(line)\" is a line of a hosts file; give the file to --list")
                }
                try add(line: text)
            } catch {
                throw CommandFailure(.usage, "\(path), line \(index + 1): \(error.message)")
            }
        }
    }

    private mutating func add(line: Substring) throws(CommandFailure) {
        if let rest = line.dropping(prefix: "server=") ?? line.dropping(prefix: "[") {
            guard rest.hasPrefix("/") else {
                if line.hasPrefix("[") { throw CommandFailure(.usage, "\"\(line)\": write [/DOMAIN/]UPSTREAM") }
                others.append(try Self.spec(rest))
                return
            }
            let parts = rest.dropFirst().split(separator: "/", maxSplits: Int.max, omittingEmptySubsequences: false)
            // An upstream such as https://192.0.2.1/dns-query has slashes too.
            let end = parts.firstIndex {
                $0.isEmpty || $0.contains(":") || $0.hasPrefix("]") || IPAddress(String($0.prefix { $0 != "#" })) != nil
                    || $0 == "#"
            }
            guard let end, end > 0 else { throw CommandFailure(.usage, "\"\(line)\" names no domain or no upstream") }
            var target = parts[end...].joined(separator: "/")[...]
            if line.hasPrefix("["), let upstream = target.dropping(prefix: "]") { target = upstream }
            // `server=/domain/`: the domain exists in lists only.
            if target.isEmpty { return }
            for domain in parts[..<end] { try add(String(domain), target == "#" ? nil : Self.spec(target)) }
        } else if line.contains("://") || !line.contains("=") && line.contains(where: { $0 == "." || $0 == ":" }) {
            // Lines such as `no-resolv` and `cache-size=0` are for dnsmasq only.
            others.append(try Self.spec(line))
        }
    }

    private mutating func add(_ domain: String, _ spec: String?) throws(CommandFailure) {
        let bare = domain.hasPrefix("*.") ? String(domain.dropFirst(2)) : domain
        guard let host = try? Host(bare), host.address == nil else {
            throw CommandFailure(.usage, "\"\(domain)\" is not a domain")
        }
        guard domains.count < Self.maxDomains else {
            throw CommandFailure(.usage, "more than \(Self.maxDomains) domains have upstreams")
        }
        domains[host.text, default: []] += [spec].compactMap(\.self)
    }

    /// An upstream in the form of `--dns`.
    private static func spec(_ text: Substring) throws(CommandFailure) -> String {
        if text.hasPrefix("https://") { return "doh:\(text)" }
        if let rest = text.dropping(prefix: "tls://") { return "dot:\(rest)" }
        let plain = text.dropping(prefix: "udp://") ?? text.dropping(prefix: "tcp://") ?? text
        let parts = plain.split(separator: "#", maxSplits: 1)
        guard let address = parts.first, (try? Endpoint(parsing: String(address), defaultPort: 53)) != nil else {
            throw CommandFailure(.usage, "\"\(text)\" is not ADDR, ADDR#PORT, tls://HOST or https://URL")
        }
        guard parts.count == 2 else { return "dns:\(address)" }
        return address.contains(":") ? "dns:[\(address)]:\(parts[1])" : "dns:\(address):\(parts[1])"
    }
}
