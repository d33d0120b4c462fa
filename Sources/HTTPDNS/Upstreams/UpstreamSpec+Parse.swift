// SPDX-License-Identifier: Apache-2.0

import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension UpstreamSpec {
    /// Parses a SPEC in the syntax of the command's `--dns`; `docs/COMMAND.md` lists all forms. A SPEC names files for its
    /// secrets and never contains them.
    ///
    /// - Throws: `UpstreamError` with code `misconfigured` that explains the problem.
    public init(parsing spec: String) throws(UpstreamError) {
        self = try SpecReader(spec: spec, folder: nil).read()
    }

    /// - Parameter folder: The folder for relative paths in the SPEC; `nil` for the current folder.
    package init(parsing spec: String, filesIn folder: String?) throws(UpstreamError) {
        self = try SpecReader(spec: spec, folder: folder).read()
    }
}

/// Parses one SPEC: `KIND[+VARIANT][:REST]`.
private struct SpecReader {
    static let forms =
        "dnspod, dnspod:ADDR, dnspod+aes:ID:KEYFILE[@ADDR], dnspod+https:TOKENFILE[@ADDR], "
        + "aliyun:ACCOUNT[:SECRETFILE][@ADDR], aliyun2:ACCOUNT[:SECRETFILE[:AESFILE]][@ADDR], "
        + "baidu:ACCOUNT:SECRETFILE[@ADDR], volcengine:ACCOUNT:SECRETFILE@ADDR, doh:URL[#ADDR], json:URL[#ADDR], "
        + "dot:HOST[:PORT][#ADDR], dns:ADDR, hosts:FILE or system"

    let spec: String
    /// The folder for relative paths; `nil` for the current folder.
    let folder: String?
    let kind: String
    let rest: String

    init(spec: String, folder: String?) {
        self.spec = spec
        self.folder = folder
        let colon = spec.firstIndex(of: ":") ?? spec.endIndex
        kind = String(spec[..<colon])
        rest = String(spec[colon...].dropFirst())
    }

    func read() throws(UpstreamError) -> UpstreamSpec {
        guard !rest.isEmpty else {
            switch kind {
            case "system": return .system
            case "dnspod": return .dnspod()
            default: throw wrong(advice)
            }
        }
        switch kind {
        case "dnspod": return .dnspod(at: [try endpoint(rest, port: 80)])
        case "dnspod+aes", "dnspod+https": return try dnspod()
        case "aliyun", "aliyun+http", "aliyun2", "aliyun2+http": return try aliyun()
        case "baidu", "baidu+http", "volcengine", "volcengine+http": return try signed()
        case "doh", "json":
            let (written, addresses) = try parts()
            // Lists of servers have URI templates (RFC 8484 §3).
            let text = kind == "doh" && written.hasSuffix("{?dns}") ? String(written.dropLast(6)) : written
            let url: HTTPURL
            do throws(NameError) {
                url = try HTTPURL(text)
            } catch {
                throw wrong(error.message)
            }
            guard url.origin.scheme == .https else { throw wrong("write an https URL") }
            try requireAddress(in: addresses, of: url.host)
            return kind == "doh" ? .doh(url, at: addresses) : .json(url, at: addresses)
        case "dot": return try dot()
        case "dns": return .dns([try endpoint(rest, port: 53)])
        case "hosts":
            // Does not read the file here: a pipe can be read only once.
            let path = path(rest)
            if let reason = String.reasonNotToRead(path) { throw wrong("the file \(path) cannot be read: \(reason)") }
            return .hosts(file: path)
        default: throw wrong(advice)
        }
    }

    private func dnspod() throws(UpstreamError) -> UpstreamSpec {
        let (fields, place) = try account()
        let isToken = kind == "dnspod+https"
        let endpoints = try place.map { text throws(UpstreamError) in [try endpoint(text, port: isToken ? 443 : 80)] }
        switch (isToken, fields.count) {
        case (true, 1): return .dnspod(.token(try secret(fields[0])), at: endpoints ?? [])
        case (false, 2): return .dnspod(.aes(id: fields[0], key: try secret(fields[1])), at: endpoints ?? [])
        default: throw wrong(isToken ? "write dnspod+https:TOKENFILE[@ADDR]" : "write dnspod+aes:ID:KEYFILE[@ADDR]")
        }
    }

    private func aliyun() throws(UpstreamError) -> UpstreamSpec {
        let (fields, place) = try account()
        let isSecure = !kind.hasSuffix("+http")
        let isFirst = !kind.hasPrefix("aliyun2")
        guard fields.count <= (isFirst ? 2 : 3) else {
            let form = isFirst ? "aliyun:ACCOUNT[:SECRETFILE]" : "aliyun2:ACCOUNT[:SECRETFILE[:AESFILE]]"
            throw wrong("write \(form)[@ADDR]")
        }
        var service = AliyunService(isSecure: isSecure)
        if let place {
            let endpoint = try endpoint(place, port: isSecure ? 443 : 80)
            service = AliyunService(at: [endpoint.address], port: endpoint.port, isSecure: isSecure)
            // A private service may have a certificate for its address; the published names are also valid.
            service.certificateNames.append(Host(endpoint.address))
        }
        let secret = try fields.count > 1 ? secret(fields[1]) : nil
        guard !isFirst else { return .aliyun(account: fields[0], secret: secret, service: service) }
        let key = try fields.count > 2 ? self.secret(fields[2]) : nil
        return .aliyun2(
            account: fields[0],
            secret: secret,
            // The service shows keys as 32 hexadecimal digits. A key of 16 characters is used as it is.
            encryption: key.map { .cbc(key: $0.utf8.count == 32 ? Hex.decode($0) ?? Array($0.utf8) : Array($0.utf8)) },
            service: service
        )
    }

    /// Baidu and Volcengine: both require signed queries, so the secret is mandatory.
    private func signed() throws(UpstreamError) -> UpstreamSpec {
        let (fields, place) = try account()
        let (isBaidu, isSecure) = (kind.hasPrefix("baidu"), !kind.hasSuffix("+http"))
        guard fields.count == 2, isBaidu || place != nil else {
            throw wrong("write \(kind):ACCOUNT:SECRETFILE\(isBaidu ? "[@ADDR]" : "@ADDR")")
        }
        let secret = try secret(fields[1])
        let port = (isSecure ? Scheme.https : .http).defaultPort
        let endpoints = try place.map { text throws(UpstreamError) in [try endpoint(text, port: port)] } ?? []
        return isBaidu
            ? .baidu(account: fields[0], secret: secret, at: endpoints, isSecure: isSecure)
            : .volcengine(account: fields[0], secret: secret, at: endpoints, isSecure: isSecure)
    }

    private func dot() throws(UpstreamError) -> UpstreamSpec {
        let (text, addresses) = try parts()
        // HOST:PORT has the syntax of a URL's authority.
        guard let origin = try? HTTPURL("https://\(text)").origin else {
            throw wrong("\"\(text)\" is not HOST or HOST:PORT")
        }
        try requireAddress(in: addresses, of: origin.host)
        let hasPort = text.hasSuffix(":\(origin.port)")
        return .dot(origin.host, at: addresses, port: hasPort ? origin.port : 853)
    }

    /// `FIELD[:FIELD]…[@PLACE]`.
    private func account() throws(UpstreamError) -> (fields: [String], place: String?) {
        let at = rest.lastIndex(of: "@")
        let fields = rest[..<(at ?? rest.endIndex)].split(separator: ":", omittingEmptySubsequences: false).map(
            String.init
        )
        guard fields.allSatisfy({ !$0.isEmpty }) else { throw wrong("a part between the colons is empty") }
        return (fields, at.map { String(rest[rest.index(after: $0)...]) })
    }

    /// `TEXT[#ADDR,ADDR]`.
    private func parts() throws(UpstreamError) -> (String, [IPAddress]) {
        let parts = rest.split(separator: "#", maxSplits: 1)
        var addresses: [IPAddress] = []
        for text in parts.dropFirst().first?.split(separator: ",") ?? [] {
            guard let address = IPAddress(String(text)) else {
                let remedy = Endpoint(String(text)) == nil ? "" : "; the port belongs before the #"
                throw wrong("\"\(text)\" is not an IP address\(remedy)")
            }
            addresses.append(address)
        }
        return (String(parts.first ?? ""), addresses)
    }

    /// Throws if the host of an upstream is a name whose addresses are not given: the resolver could not connect to it.
    private func requireAddress(in addresses: [IPAddress], of host: Host) throws(UpstreamError) {
        guard addresses.isEmpty, host.address == nil else { return }
        throw wrong("the address of \(host) is missing; append it as #ADDR, such as #192.0.2.1")
    }

    private func endpoint(_ text: String, port: UInt16) throws(UpstreamError) -> Endpoint {
        guard let endpoint = try? Endpoint(parsing: text, defaultPort: port), endpoint.port > 0 else {
            throw wrong("\"\(text)\" is not ADDR or ADDR:PORT")
        }
        return endpoint
    }

    /// The content of a file, without surrounding white space.
    private func secret(_ path: String) throws(UpstreamError) -> String {
        let text = try contents(of: path)[...].trimmingSpace
        guard !text.isEmpty else { throw wrong("the file \(path) is empty") }
        return String(text)
    }

    private func path(_ name: String) -> String {
        guard let folder, !name.hasPrefix("/") else { return name }
        return "\(folder)/\(name)"
    }

    private func contents(of name: String) throws(UpstreamError) -> String {
        let path = path(name)
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            // Do not show the SPEC or the path, because some users write the secret there by mistake.
            let cause = String.reasonNotToRead(path) ?? "it is not a text in UTF-8"
            let reason = "the file that holds a secret cannot be read: \(cause)"
            throw UpstreamError(.misconfigured, "upstream \(kind): \(reason)")
        }
    }

    /// How to write a SPEC of an unknown kind, such as an address or a URL without a kind.
    private var advice: String {
        if (try? Endpoint(parsing: spec, defaultPort: 53)) != nil { return "write dns:\(spec)" }
        return kind == "https" ? "write doh: or json: before the URL" : "write \(Self.forms)"
    }

    private func wrong(_ why: String) -> UpstreamError {
        var shown = spec
        // A URL may have a user and a password, also one without a kind before it.
        let isURL = kind == "doh" || kind == "json" || rest.hasPrefix("//")
        if isURL, let end = rest.lastIndex(of: "@") { shown = "\(kind):…\(rest[end...])" }
        return UpstreamError(.misconfigured, "upstream \"\(shown)\": \(why)")
    }
}
