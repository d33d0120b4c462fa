// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
package import Names

/// DNSPod's HTTPDNS, `GET /d?dn=www.example.com&ttl=1`: unencrypted, encrypted or with a token.
package final class DNSPodUpstream: BatchUpstream, ScheduledUpstream {
    package let name: String
    package let maxNames = 8
    private let form: DNSPodForm
    private let options: DNSPodOptions
    private let service: UpstreamService
    private let schedule: UpstreamService?
    private let cipher: AESCipher?
    private let clock: SigningClock

    /// DNSPod's public endpoint for the plain form, 119.29.29.29, port 80.
    package static let publicEndpoint = Endpoint(IPAddress(v4: 0x771d_1d1d), port: 80)

    /// A form at one or several endpoints; none: the form's ``DNSPodForm/publicEndpoint``. The endpoint that answered last
    /// is tried first.
    package init(
        _ form: DNSPodForm = .plain,
        at endpoints: [Endpoint] = [],
        options: DNSPodOptions = DNSPodOptions(),
        transport: any UpstreamTransport,
        clock: SigningClock = SigningClock()
    ) {
        self.form = form
        self.options = options
        self.clock = clock
        cipher = form.cipher
        let connect = { (endpoints: [Endpoint]) in
            UpstreamService(form.scheme, endpoints: endpoints, orElse: form.publicEndpoint, transport: transport)
        }
        service = connect(endpoints)
        schedule = options.scheduleEndpoints.isEmpty ? nil : connect(options.scheduleEndpoints)
        name = "\(form.label):\(service.label)"
    }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        let lines = try await ask(for: [question.host], families: question.families, subnet: question.subnet)
        guard lines.count == 1, lines[0].name.map({ question.host.isCalled($0) }) ?? true else {
            throw UpstreamError(.wrongAnswer, "the answer is for another name")
        }
        return lines[0].answer
    }

    package func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer] {
        var answers: [Host: Answer] = [:]
        for line in try await ask(for: hosts, families: families, subnet: nil) {
            guard let host = hosts.first(where: { line.name.map($0.isCalled) ?? (hosts.count == 1) }) else {
                throw UpstreamError(.wrongAnswer, "the answer is for \"\(line.name ?? "")\" too")
            }
            answers[host] = line.answer
        }
        return answers
    }

    package func reschedule() async -> Duration {
        guard let schedule else { return .seconds(86_400) }
        do throws(UpstreamError) {
            let entries = try await schedule.ask(
                make: { (request) throws(UpstreamError) in
                    var query = QueryString()
                    self.identify(&query)
                    request.target = "/conf?\(query.text)"
                    request.timeLimit = request.timeLimit ?? UpstreamService.scheduleLimit
                },
                read: { (reply) throws(UpstreamError) in try DNSPodEntries(try self.text(of: reply)) }
            )
            let port = service.endpoints[0].port
            service.use(entries.addresses.map { Endpoint($0, port: port) })
            return entries.lifetime
        } catch {
            return .seconds(300)
        }
    }

    // MARK: The question

    private func ask(
        for hosts: [Host],
        families: Families,
        subnet: IPNetwork?
    ) async throws(UpstreamError) -> [DNSPodAnswer] {
        let text = try hosts.askedNames()
        return try await service.askSigned(
            clock: clock,
            make: { (request) throws(UpstreamError) in
                request.target = "/d?" + (try self.query(for: text, families: families, subnet: subnet))
            },
            read: { (reply) throws(UpstreamError) in
                try DNSPodAnswer.parse(try self.text(of: reply), families: families, named: hosts.count > 1)
            }
        )
    }

    private func query(for names: String, families: Families, subnet: IPNetwork?) throws(UpstreamError) -> String {
        var query = QueryString()
        var text = names
        if let validity = options.validity, form != .plain {
            text += ";\(clock.now + validity.components.seconds)"
        }
        query.add("dn", try sealed(text))
        identify(&query)
        query.add("ttl", 1)
        switch families {
        case .both: query.add("type", "addrs")
        case .v6: query.add("type", "aaaa")
        default: break
        }
        if let address = subnet?.first.description {
            query.add("ip", options.encryptsSubnet ? try sealed(address) : address)
        }
        if options.wantsClientAddress { query.add("clientip", 1) }
        return query.text
    }

    private func identify(_ query: inout QueryString) {
        switch form.kind {
        case .plain: break
        case .aes(let id, _):
            query.add("id", id)
            query.add("alg", "aes")
        case .token(let token):
            query.add("token", token)
        }
    }

    private func text(of reply: UpstreamReply) throws(UpstreamError) -> String {
        try reply.requireSuccess(hasAccount: form != .plain && service.isAuthenticated)
        let text = try reply.text()
        // An empty reply means "no record" in every form and is not encrypted.
        return text.isEmpty ? text : try opened(text)
    }

    // MARK: Encryption

    private func sealed(_ text: String) throws(UpstreamError) -> String {
        guard case .aes = form.kind else { return text }
        guard let sealed = try? cipher?.seal(Array(text.utf8)) else {
            throw UpstreamError(.misconfigured, "the question cannot be encrypted")
        }
        return Hex.encode(sealed)
    }

    private func opened(_ text: String) throws(UpstreamError) -> String {
        guard case .aes = form.kind else { return text }
        guard let octets = Hex.decode(text[...].trimmingSpace).flatMap({ cipher?.open($0) }),
            octets.allSatisfy({ $0 < 0x80 })
        else { throw UpstreamError(.malformedAnswer, "the reply is not encrypted with the account's key") }
        return String(decoding: octets, as: UTF8.self)
    }
}
