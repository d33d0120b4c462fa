// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline

/// The options of ``NameArguments`` as `fetch` parses them.
struct NameOptions: FetchOptionGroup {
    var dns: [String] = []
    var allowsLocalAnswers = false
    var cacert: [String] = []
    var usesHTTPSRecords = true
    /// The last of `-4` and `-6` on the command line.
    var families = Families.both

    static let options: [FetchOption] = [
        .text("dns", value: "spec", help: "Resolve names with this upstream; may be repeated") {
            $0.names.dns.append($1)
        },
        .flag("allow-local-answers", help: "Accept loopback and link-local addresses in answers") {
            $0.names.allowsLocalAnswers = $1
        },
        .text("cacert", value: "file", help: "Also trust the CAs in this PEM file") { $0.names.cacert.append($1) }
            .path(),
        .flag("https-records", help: "Ask for HTTPS records (default); --no-https-records turns this off") {
            $0.names.usesHTTPSRecords = $1
        },
        .flag("ipv4", "4", help: "Use IPv4 addresses only") { $0.names.families = $1 ? .v4 : .both },
        .flag("ipv6", "6", help: "Use IPv6 addresses only") { $0.names.families = $1 ? .v6 : .both },
    ]
}
