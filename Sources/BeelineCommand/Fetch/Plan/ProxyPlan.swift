// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

extension ClientConfiguration {
    /// Applies the options for proxies.
    ///
    /// - Parameters:
    ///   - userAgent: the User-Agent of requests for tunnels.
    ///   - warnings: receives a warning for each field that is not sent.
    mutating func apply(
        _ options: ProxyOptions,
        userAgent: String?,
        defaults: Defaults,
        files: InputFiles,
        warnings: inout [String]
    ) throws(CommandFailure) {
        let given = options.proxy ?? defaults.proxy
        let preproxyText = options.preproxy.map { $0.hasScheme ? $0 : "socks5://" + $0 }
        // As in curl, --preproxy without another proxy sets the proxy.
        let text = given?.isEmpty == false ? given : preproxyText ?? given
        var settings = try Self.proxies(text, except: options.noproxy, defaults)
        let headers = try HeaderLine.all(options.headers, files, option: "--proxy-header", warnings: &warnings)
        var login: BasicCredentials?
        if let user = options.user {
            login = try BasicCredentials(user, option: "-U", of: "proxy", files)
        }
        var preproxy: Proxy?
        if let preproxyText, given?.isEmpty == false {
            guard let first = Proxy(parsing: preproxyText), first.kind == .socks5 else {
                throw CommandFailure(.proxyUnresolved, "--preproxy: write socks5://HOST:PORT")
            }
            preproxy = first
        }
        let tls =
            try options.tls == TLSValues()
            ? nil : TLSSettings(options.tls, over: self.tls.withoutIdentity, option: "proxy-", files)
        func complete(_ proxy: Proxy) throws(CommandFailure) -> Proxy {
            var proxy = proxy
            // As in curl, the login of the proxy's URL comes first.
            if let login, proxy.user == nil { (proxy.user, proxy.password) = (login.user, login.password) }
            let scheme = AuthScheme(basic: options.basic, digest: options.digest, anyauth: options.anyauth)
            proxy.allowsBasic = scheme != .digest
            proxy.waitsForChallenge = scheme == .any
            proxy.tunnelsPlainHTTP = options.tunnels
            proxy.connectsWithHTTP10 = options.connectsWithHTTP10
            proxy.preproxy = preproxy
            if let tls, proxy.kind == .http { proxy.tls = tls }
            proxy.connectFields[.userAgent] = userAgent
            for line in headers {
                if line.isFirst { proxy.connectFields[line.name] = nil }
                guard let value = line.value else { continue }
                proxy.connectFields.append(HTTPField(name: line.name, value: value))
                // A forwarded request has the Host of its URL.
                guard line.name != RequestDraft.host else { continue }
                proxy.forwardedFields.append(HTTPField(name: line.name, value: value))
            }
            return proxy
        }
        if let proxy = settings.http { settings.http = try complete(proxy) }
        if let proxy = settings.https { settings.https = try complete(proxy) }
        proxies = settings
    }
}

extension BasicCredentials {
    /// Parses `USER:PASSWORD` and asks for a missing password.
    ///
    /// - Parameters:
    ///   - option: the option, for messages.
    ///   - role: `host` or `proxy`, for the prompt.
    init(_ text: String, option: String, of role: String, _ files: InputFiles) throws(CommandFailure) {
        let text = try HeaderLine.checked(text, option)
        if let (user, _, password) = text.cut(atFirst: ":") {
            self.init(user: String(user), password: String(password))
            return
        }
        guard let octets = files.askPassword("Enter \(role) password for user '\(text)':") else {
            throw CommandFailure(
                .usage,
                "\(option): write USER:PASSWORD; there is no terminal to prompt on, and standard input is empty"
            )
        }
        guard let password = String(validUTF8: octets) else {
            throw CommandFailure(.usage, "\(option): the password is not UTF-8")
        }
        self.init(user: text, password: password)
    }
}
