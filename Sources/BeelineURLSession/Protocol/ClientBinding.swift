// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar
import Foundation
import NIOConcurrencyHelpers
import Names

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The client and settings of a protocol class. Foundation creates the objects of the class and passes none of our state to
/// them.
final class ClientBinding: Sendable {
    /// The maximum number of mirrored storages. A program usually has one or two. A storage beyond it is synced as a new one when
    /// it is used again, and would bring back cookies that the jar has deleted since.
    private static let maxMirrors = 64

    let client: BeelineClient
    let settings: BeelineURLProtocol.Settings
    /// The configuration that the class was created for; `nil` for ``BeelineURLProtocol`` itself.
    let configuration: URLSessionConfiguration?
    /// The mirrors of recently used storages, the most recent last.
    private let mirrors = NIOLockedValueBox<[CookieStorageMirror]>([])

    init(_ client: BeelineClient, settings: BeelineURLProtocol.Settings, configuration: URLSessionConfiguration?) {
        self.client = client
        self.settings = settings
        self.configuration = configuration
    }

    // MARK: Selection

    /// Whether the client carries a request.
    ///
    /// - Parameter logsReason: Whether to log the reason if it does not.
    func carries(_ request: URLRequest, logsReason: Bool = true) -> Bool {
        guard let url = request.url, let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https"
        else { return false }
        guard let reason = reasonToDecline(request, url) else { return true }
        if logsReason { settings.log?("\(url.host ?? "a URL without host") is left to URLSession: \(reason)") }
        return false
    }

    private func reasonToDecline(_ request: URLRequest, _ url: URL) -> String? {
        guard let url = try? HTTPURL(url) else { return "its URL is not a valid http or https URL" }
        if request.bypassesBeeline { return "the request says so" }
        if let hosts = settings.hosts, !hosts.contains(url.host) { return "the settings name other hosts" }
        if !settings.accepts(request) { return "the settings do not accept the request" }
        if !client.isHTTPDNSEnabled { return "HTTPDNS is switched off" }
        #if canImport(Darwin)
        if configuration?.hasProxyConfigurations == true { return "the session has a proxy" }
        let own = configuration?.connectionProxyDictionary ?? [:]
        let named = Dictionary(own.compactMap { key, value in (key as? String).map { ($0, value) } }) { $1 }
        if ProxySettings(systemSettings: named).route(to: url.origin) != .direct { return "the session has a proxy" }
        #endif
        switch client.configuration.routing(to: url.origin) {
        case .proxy: return "a proxy is in force"
        case .refused(let problem): return problem
        case .unixSocket, .pinned, .resolve, .elsewhere: return nil
        }
    }

    // MARK: Cookies

    /// The mirror that syncs a storage with the jar of its requests: the client's jar, or, if the storage is the truth, a
    /// separate jar for that storage.
    func mirror(of storage: HTTPCookieStorage) -> CookieStorageMirror {
        mirrors.withLockedValue { mirrors in
            if let index = mirrors.firstIndex(where: { $0.storage === storage }) {
                mirrors.append(mirrors.remove(at: index))
            } else {
                let jar = settings.truth == .jar ? client.jar : nil
                var configuration = CookieStorageMirror.Configuration()
                configuration.truth = jar == nil ? .storage : .jar
                if let jar {
                    let isKeptTwice = jar.isRestored && storage === HTTPCookieStorage.shared
                    configuration.beginsFromJar = settings.beginsFromJar ?? isKeptTwice
                    configuration.keepsSessionCookies = settings.beginsFromJar == nil
                    #if canImport(FoundationNetworking)
                    if settings.beginsFromJar == nil, jar.isKept, storage === HTTPCookieStorage.shared {
                        configuration.record = .inDefaults()
                    }
                    #endif
                }
                mirrors.append(
                    CookieStorageMirror(jar: jar ?? CookieJar(), storage: storage, configuration: configuration)
                )
                if mirrors.count > Self.maxMirrors { mirrors.removeFirst() }
            }
            return mirrors[mirrors.count - 1]
        }
    }
}

/// The binding of each protocol class.
enum ClientBindings {
    private static let bindings = NIOLockedValueBox<[ObjectIdentifier: ClientBinding]>([:])

    static subscript(type: BeelineURLProtocol.Type) -> ClientBinding? {
        get { bindings.withLockedValue { $0[ObjectIdentifier(type)] } }
        set { bindings.withLockedValue { $0[ObjectIdentifier(type)] = newValue } }
    }

    private static let made = NIOLockedValueBox(0)

    /// Creates a new, unique class.
    static func makeClass() -> BeelineURLProtocol.Type {
        let number = made.withLockedValue { made in
            made += 1
            return made
        }
        return numbered(number, Nothing.self)
    }

    /// Encodes the number in the type argument, one binary digit at a time. A generic class with another argument is another
    /// class.
    private static func numbered<Rest>(_ number: Int, _ rest: Rest.Type) -> BeelineURLProtocol.Type {
        if number == 0 { return NumberedProtocol<Rest>.self }
        return number.isMultiple(of: 2)
            ? numbered(number / 2, Zero<Rest>.self) : numbered(number / 2, One<Rest>.self)
    }

    private enum Nothing {}
    private enum Zero<Rest> {}
    private enum One<Rest> {}
}

/// The generic class behind the unique classes; see ``ClientBindings``.
private final class NumberedProtocol<Number>: BeelineURLProtocol {}
