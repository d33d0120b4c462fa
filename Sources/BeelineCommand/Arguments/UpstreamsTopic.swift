// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `beeline help upstreams`: describes SPEC, the value of `--dns`.
struct UpstreamsTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upstreams",
        abstract: "Describe SPEC, the value of --dns (help only).",
        discussion: """
            SPEC selects an upstream, a service that resolves names:

              dnspod, dnspod:ADDR          DNSPod, unencrypted
              doh:URL[#IP,IP]              DNS over HTTPS (RFC 8484)
              json:URL[#IP,IP]             DNS in JSON over HTTPS
              dot:HOST[:PORT][#IP,IP]      DNS over TLS (RFC 7858)
              dns:ADDR                     DNS over UDP and TCP
              system                       the system's resolver
              hosts:FILE                   a table in the format of /etc/hosts

            Services that need an account:

              dnspod+aes:ID:KEYFILE[@ADDR]
              dnspod+https:TOKENFILE[@ADDR]
              aliyun:ACCOUNT[:SECRETFILE][@ADDR]
              aliyun2:ACCOUNT[:SECRETFILE[:AESFILE]][@ADDR]
              baidu:ACCOUNT:SECRETFILE[@ADDR]
              volcengine:ACCOUNT:SECRETFILE@ADDR

            ADDR is an IP address, with or without a port: 192.0.2.1, 192.0.2.1:5353, [2001:db8::1]:53. The IP addresses \
            after # are those of the host of URL, or of HOST. They are \
            needed if that host is a name.

            Upstreams are asked in the given order. Without --dns, the command uses $BEELINE_DNS, then the configuration \
            file, then two public DoH services, dnspod and system. `beeline dns` leaves out system unless you name it, \
            because the system's resolver may ask that server.
            """
    )

    func run() throws {
        try StandardOutput.writeLine(BeelineCommand.helpMessage(for: Self.self))
    }
}
