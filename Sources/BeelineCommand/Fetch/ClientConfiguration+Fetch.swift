// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar

extension ClientConfiguration {
    /// Makes the client configuration for `fetch`.
    init(_ command: FetchArguments, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        try self.init(command.names, defaults: defaults, files: files)
        let connection = command.connection
        if connection.noHttpdns { isHTTPDNSEnabled = false }
        for text in connection.resolve { try pin(text, command.names.families) }
        proxies = try Self.proxies(connection.proxy, except: connection.noproxy, defaults)
        tls.verifiesCertificate = !connection.insecure
        tls.offersHTTP2 = !connection.http1
        limits.connect =
            try Duration(seconds: connection.connectTimeout ?? defaults.connectTimeout, option: "--connect-timeout")
            ?? limits.connect
        // As in curl, `-m` limits the whole transfer; there is no idle limit, because a stream may pause for long.
        limits.idle = nil
        limits.whole = try Duration(seconds: command.transfer.maxTime ?? defaults.maxTime, option: "-m")
        guard connection.maxRedirs >= -1 else { throw CommandFailure(.usage, "--max-redirs: write -1 or more") }
        redirects =
            connection.location ? .follow(limit: connection.maxRedirs == -1 ? .max : connection.maxRedirs) : .none
        decodesContent = command.request.compressed
        jar =
            command.cookies.noCookies
            ? nil : CookieJar(configuration: try CookieJarConfiguration(maxCookies: command.cookies.maxCookies))
    }

    /// Makes the client configuration for any command that resolves names.
    init(_ names: NameOptions, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        self.init()
        let (specs, folder) = names.dns.isEmpty ? (defaults.dns, defaults.dnsFolder) : (names.dns, nil)
        if !specs.isEmpty {
            upstreams = try specs.map { spec throws(CommandFailure) in
                do throws(UpstreamError) {
                    return try UpstreamSpec(parsing: spec, filesIn: folder)
                } catch {
                    throw CommandFailure(.usage, error.message)
                }
            }
        }
        resolver.families = names.families
        resolver.check.allowsLocalAnswers = names.allowsLocalAnswers || defaults.allowsLocalAnswers
        isHTTPDNSEnabled = defaults.httpdns
        for path in names.cacert.isEmpty ? defaults.cacert : names.cacert { try trust(path, files) }
    }

    private mutating func trust(_ path: String, _ files: InputFiles) throws(CommandFailure) {
        let text: String
        do {
            text = try files.text(path)
        } catch {
            throw CommandFailure(.unreadableRoots, "--cacert: \(error.message)")
        }
        guard text.contains("-----BEGIN CERTIFICATE-----") else {
            throw CommandFailure(.unreadableRoots, "--cacert: \(path) has no certificate in PEM form")
        }
        tls.rootFiles.append(path)
    }

    /// Returns the proxies from `-x` and `--noproxy`, the configuration file, or the environment.
    static func proxies(
        _ proxy: String?,
        except noproxy: String?,
        _ defaults: Defaults
    ) throws(CommandFailure) -> ProxySettings {
        var settings = ProxySettings(environment: defaults.environment)
        if let text = proxy ?? defaults.proxy {
            if text.isEmpty { return .none }
            guard let proxy = Proxy(parsing: text) else {
                throw CommandFailure(
                    .proxyUnresolved,
                    "the proxy \(text.withoutUser): write http://, https:// or socks5h://host:port"
                )
            }
            settings.http = proxy
            settings.https = proxy
        }
        if let list = noproxy ?? defaults.noproxy { settings.exceptions = ProxyExceptions(parsing: list) }
        return settings
    }

    /// Parses `[+]HOST:PORT:ADDR[,ADDR]`, with IPv6 addresses in brackets.
    private mutating func pin(_ text: String, _ families: Families) throws(CommandFailure) {
        let malformed = CommandFailure(.malformedOption, "--resolve \"\(text)\": write HOST:PORT:ADDR[,ADDR]")
        let rest = text.hasPrefix("+") ? text.dropFirst() : text[...]
        // An IPv6 host is in brackets as well.
        let hostEnd = rest.hasPrefix("[") ? rest.firstIndex(of: "]").map(rest.index(after:)) : rest.firstIndex(of: ":")
        guard let hostEnd, hostEnd < rest.endIndex, rest[hostEnd] == ":", let host = try? Host(rest[..<hostEnd]) else {
            throw malformed
        }
        let parts = rest[rest.index(after: hostEnd)...].split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let port = UInt16(parts[0]), port > 0 else { throw malformed }
        var addresses: [IPAddress] = []
        for item in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
            let bare = item.hasPrefix("[") && item.hasSuffix("]") ? item.dropFirst().dropLast() : item
            guard let address = IPAddress(String(bare)) else { throw malformed }
            if families.contains(Families(address.family)) { addresses.append(address) }
        }
        guard !addresses.isEmpty else {
            throw CommandFailure(.hostUnresolved, "--resolve \"\(text)\" has no \(families) address for \(host)")
        }
        pinned[Pin(host, port: port)] = addresses
    }
}

extension String {
    /// The proxy URL for messages, without user and password.
    fileprivate var withoutUser: String {
        guard let at = lastIndex(of: "@") else { return "\"\(self)\"" }
        return "\"…\(self[at...])\""
    }
}
