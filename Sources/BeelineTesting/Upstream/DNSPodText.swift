// SPDX-License-Identifier: Apache-2.0

import Names

/// DNSPod's text response: `192.0.2.1;192.0.2.2,60`, one line for each name.
enum DNSPodText {
    static func answer(_ findings: [Zone.Finding], _ query: [String: String], ttl: String?) -> String {
        findings.map { line($0, query, ttl: ttl, namesIt: query["query"] == "1" || findings.count > 1) }
            .joined(separator: "\n")
    }

    private static func line(
        _ finding: Zone.Finding,
        _ query: [String: String],
        ttl: String?,
        namesIt: Bool
    ) -> String {
        let list = { (family: IPAddress.Family) -> String in
            let addresses = finding.addresses(family)
            guard !addresses.isEmpty else { return "0" }
            let tail = query["ttl"] == "1" ? ",\(ttl ?? "\(finding.ttl)")" : ""
            return addresses.map(\.description).joined(separator: ";") + tail
        }
        let body =
            switch query["type"]?.lowercased() {
            case "aaaa": list(.v6)
            case "addrs": "\(list(.v4))-\(list(.v6))"
            // The plain form is empty if there is no address.
            default: finding.addresses(.v4).isEmpty && !namesIt ? "" : list(.v4)
            }
        let client = query["clientip"] == "1" ? "|127.0.0.1" : ""
        return (namesIt ? "\(finding.name).:" : "") + body + client
    }
}
