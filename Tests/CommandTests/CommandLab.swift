// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation

/// A site on two addresses with a certificate for each of its names, an HTTPDNS service that resolves the names, and the
/// command.
struct CommandLab {
    let folder: Folder
    let authority: TestAuthority
    let site: LoopbackOrigin
    /// The same site without TLS.
    let plain: LoopbackOrigin
    let upstream: UpstreamServer

    /// - Parameter handler: answers the requests to both sites.
    init(
        names: [String] = ["a.test", "b.test"],
        handler: @escaping LoopbackOrigin.Handler = Routes.standard
    ) async throws {
        folder = try Folder()
        authority = try TestAuthority()
        try folder.write(authority.rootPEM, to: "ca.pem")
        var tls = ServerTLS()
        let signer = authority
        tls.certificates = try names.map { try signer.certificate(for: $0) }
        let addresses = ["127.0.0.1", "127.0.0.2"]
        site = try await LoopbackOrigin.start(addresses: addresses, tls: tls, handler: handler)
        plain = try await LoopbackOrigin.start(addresses: addresses, handler: handler)
        upstream = try await UpstreamServer.start()
        for name in names { try upstream.zone.set(name, to: ["127.0.0.2", "127.0.0.1"], ttl: 60) }
    }

    /// `https://a.test:port/path`.
    func url(_ name: String, _ path: String = "/") -> String { "https://\(name):\(site.port)\(path)" }

    /// `http://127.0.0.1:port/path`.
    func plainURL(_ path: String = "/") -> String { "http://127.0.0.1:\(plain.port)\(path)" }

    /// The options that make the command ask the lab's service and trust its authority.
    var names: [String] {
        ["--dns", "dnspod:\(upstream.endpoint)", "--allow-local-answers", "--cacert", "\(folder.path)/ca.pem"]
    }

    func beeline(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: Data = Data()
    ) async throws -> CommandRun {
        try await CommandRun.run(CommandRun.beeline, arguments, in: folder, environment: environment, input: input)
    }

    func stop() async {
        await site.stop()
        await plain.stop()
        await upstream.stop()
    }
}

/// The JSON that `--report` or `--json` printed, by key and index.
struct ReportView {
    private let value: Any?

    init(_ text: String) throws { value = try JSONSerialization.jsonObject(with: Data(text.utf8)) }

    private init(value: Any?) { self.value = value }

    subscript(key: String) -> ReportView { ReportView(value: (value as? [String: Any])?[key]) }
    subscript(index: Int) -> ReportView {
        let list = value as? [Any] ?? []
        return ReportView(value: list.indices.contains(index) ? list[index] : nil)
    }

    var text: String? { value as? String }
    var number: Double? { (value as? NSNumber)?.doubleValue }
    var isTrue: Bool? { value as? Bool }
    var isNull: Bool { value is NSNull }
    var count: Int { (value as? [Any])?.count ?? 0 }
    var keys: [String] { (value as? [String: Any])?.keys.sorted() ?? [] }
    var texts: [String] { (value as? [Any])?.compactMap { $0 as? String } ?? [] }
}
