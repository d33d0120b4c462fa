// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline

/// Options for name resolution and trusted CAs, shared by all subcommands that connect.
struct NameArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp("Resolve names with this upstream; may be repeated", valueName: "spec")
    )
    var dns: [String] = []

    @Flag(name: .customLong("allow-local-answers"), help: "Accept loopback and link-local addresses in answers")
    var allowsLocalAnswers = false

    @Option(help: ArgumentHelp("Also trust the CAs in this PEM file", valueName: "file"), completion: .file())
    var cacert: [String] = []

    @Flag(
        name: .customLong("https-records"),
        inversion: .prefixedNo,
        help: "Ask for HTTPS records, where the upstream carries them"
    )
    var usesHTTPSRecords = true

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use IPv4 addresses only")
    var ipv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use IPv6 addresses only")
    var ipv6 = false

    /// The options as `fetch` has them.
    ///
    /// - Throws: ``CommandFailure`` if both `-4` and `-6` are given.
    func options() throws(CommandFailure) -> NameOptions {
        guard !(ipv4 && ipv6) else { throw CommandFailure(.usage, "-4 and -6 exclude each other") }
        var options = NameOptions()
        (options.dns, options.allowsLocalAnswers, options.cacert) = (dns, allowsLocalAnswers, cacert)
        options.usesHTTPSRecords = usesHTTPSRecords
        options.families = families
        return options
    }

    /// The address families that `-4` and `-6` allow.
    var families: Families { ipv4 ? .v4 : ipv6 ? .v6 : .both }

    /// The pointer to the description of SPEC in `--help`.
    static let specs = "`beeline help upstreams` describes SPEC, the value of --dns."
}
