// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for name resolution and trusted CAs, shared by all subcommands that connect.
struct NameArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp("Ask this upstream for names; repeat it to add more", valueName: "spec")
    )
    var dns: [String] = []

    @Flag(help: "Take loopback and link-local answers as well")
    var allowLocalAnswers = false

    @Option(help: ArgumentHelp("Trust the CAs in this PEM file, too", valueName: "file"))
    var cacert: [String] = []

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use IPv4 addresses only")
    var ipv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use IPv6 addresses only")
    var ipv6 = false

    /// The description of SPEC in `--help`.
    static let specs = """
        SPEC, in the order to ask: dnspod[:ADDR[:PORT]], doh:URL[#ADDR,ADDR], json:URL[#ADDR,ADDR], \
        dot:HOST[:PORT][#ADDR], dns:ADDR, system, hosts:FILE, and the paid services dnspod+aes:ID:KEYFILE[@ADDR], \
        dnspod+https:TOKENFILE[@ADDR], aliyun:ACCOUNT[:SECRETFILE][@ADDR], \
        aliyun2:ACCOUNT[:SECRETFILE[:AESFILE]][@ADDR], baidu:ACCOUNT:SECRETFILE[@ADDR] and \
        volcengine:ACCOUNT:SECRETFILE@ADDR. Without --dns: \
        $BEELINE_DNS, then the configuration file, then two public DoH services, dnspod and system.
        """
}
