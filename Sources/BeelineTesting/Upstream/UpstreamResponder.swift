// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// Detects the format of a query and answers it from the zone.
struct UpstreamResponder: Sendable {
    let zone: Zone
    let log: Watched<[UpstreamServer.Query]>

    func answer(_ request: ReceivedRequest) async throws -> Reply {
        let query = request.query
        let parts = request.path.split(separator: "/").map(String.init)
        switch (parts.last, parts.count) {
        case ("d", 1):
            return try await answer(request, form: .dnspod, names: query["dn"], families: families(query["type"])) {
                .text(DNSPodText.answer($0, query, ttl: $1.ttl))
            }
        case ("d", 2) where parts[0] == "v2":
            let wanted = families(query["q"])
            return try await answer(request, form: .aliyun2, names: query["dn"], families: wanted) {
                try AliyunJSON.version2($0, wanted, ttl: $1.ttl)
            }
        case ("d", 2), ("resolve", 2):
            let wanted = families(query["query"])
            return try await answer(request, form: .aliyun, names: query["host"], families: wanted) {
                try parts[1] == "d"
                    ? AliyunJSON.single($0, wanted, ttl: $1.ttl) : AliyunJSON.batch($0, wanted, ttl: $1.ttl)
            }
        case ("resolve", 1),
            ("dns-query", 1) where query["name"] != nil:
            let type = DoHJSON.type(query["type"])
            return try await answer(request, form: .dohJSON, names: query["name"], families: families(of: type)) {
                try DoHJSON.answer($0[0], type: type, ttl: $1.ttl)
            }
        case ("dns-query", 1):
            return try await answerMessage(request)
        default:
            return .text("unknown form of question: \(request.target)\n", status: .notFound)
        }
    }

    private func answerMessage(_ request: ReceivedRequest) async throws -> Reply {
        let type = "application/dns-message"
        if request.method == .post, request.fields[.contentType] != type {
            return .text("a DNS message is of type \(type)\n", status: .unsupportedMediaType)
        }
        let bytes = request.method == .post ? request.body : request.query["dns"].flatMap { TestBase64.decode($0) }
        guard let message = bytes.flatMap({ TestDNSMessage.Query($0) }) else {
            return .text("not a DNS query\n", status: .badRequest)
        }
        return try await answer(request, form: .doh, names: message.name, families: families(of: message.type)) {
            findings,
            faults in
            var finding = findings[0]
            if let ttl = faults.ttl { finding.ttl = UInt32(truncatingIfNeeded: Int64(ttl) ?? .max) }
            return .bytes(DNSAnswer(message, finding, fault: faults.message).bytes, type: type)
        }
    }

    /// The faults that the format's encoder applies.
    private struct FormFaults {
        var ttl: String?
        var fields: HTTPFields = [:]
        var message: UpstreamFault.MessageFault?
    }

    /// Records a query for each of the comma-separated names, looks them up and applies their faults.
    private func answer(
        _ request: ReceivedRequest,
        form: UpstreamServer.Query.Form,
        names: String?,
        families: [IPAddress.Family],
        reply: ([Zone.Finding], FormFaults) throws -> Reply
    ) async throws -> Reply {
        let names = names?.split(separator: ",").map(String.init) ?? []
        guard !names.isEmpty else { return .text("no name\n", status: .badRequest) }
        log.update { log in
            for name in names where log.count < 10_000 {
                log.append(.init(name: name, families: families, form: form, request: request))
            }
        }
        var findings: [Zone.Finding] = []
        var faults = FormFaults()
        for name in names {
            let fault = zone.fault(of: name)
            if case .delay(let gate)? = fault?.kind { try await gate.wait() }
            var finding = zone.lookUp(name)
            switch fault?.kind {
            case .reply(let reply): return reply
            case .ttl(let text): faults.ttl = text
            case .message(let message): faults.message = message
            case .fields(let fields): faults.fields.append(contentsOf: fields)
            case .manyAddresses(let count):
                finding.addresses = (0..<UInt32(min(max(0, count), 5000))).flatMap { index in
                    [IPAddress(v4: 0xc633_6401 + index), IPAddress(v6: 0x2001_0db8 << 32, UInt64(1 + index))]
                }
            case .delay, nil: break
            }
            findings.append(finding)
        }
        // DNS responses have their own code for this (SERVFAIL).
        if form != .doh, form != .dohJSON, findings.contains(where: { $0.code == .failure }) {
            return .status(.internalServerError)
        }
        var reply = try reply(findings, faults)
        for field in faults.fields { reply.fields[field.name] = field.value }
        return reply
    }

    /// The families of the text parameter; IPv4 by default.
    private func families(_ text: String?) -> [IPAddress.Family] {
        switch text?.lowercased() {
        case "aaaa", "6": [.v6]
        case "addrs", "4,6", "6,4": [.v4, .v6]
        default: [.v4]
        }
    }

    private func families(of type: UInt16) -> [IPAddress.Family] {
        switch type {
        case TestDNSMessage.RecordType.a: [.v4]
        case TestDNSMessage.RecordType.aaaa: [.v6]
        default: []
        }
    }
}
