// SPDX-License-Identifier: Apache-2.0

public import Beeline

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension URLSessionConfiguration {
    /// Creates a configuration for sessions that use a client.
    ///
    /// Create it once and use it for many sessions: each call creates a new class, which is never released and keeps the
    /// client.
    ///
    /// On Apple platforms a protocol class does not know its session, so the sessions of one configuration share its cookie
    /// storage, timeouts, header fields and proxy, with the values that it has at the time of each request. Do not change the
    /// configuration after its first session: for another user's cookie storage, call this function again.
    ///
    /// - Parameters:
    ///   - client: The client that carries the requests.
    ///   - settings: The requests to carry, and the handling of cookies.
    ///   - base: The configuration to change. Its cookie storage, timeouts and additional header fields keep their meaning.
    public static func beeline(
        _ client: BeelineClient,
        settings: BeelineURLProtocol.Settings = BeelineURLProtocol.Settings(),
        base: URLSessionConfiguration = .default
    ) -> URLSessionConfiguration {
        let type = ClientBindings.makeClass()
        let binding = ClientBinding(client, settings: settings, configuration: base)
        ClientBindings[type] = binding
        #if canImport(FoundationNetworking)
        base.urlCache = base.urlCache.map { BypassedCache($0, binding) }
        #endif
        base.protocolClasses = [type] + (base.protocolClasses ?? [])
        return base
    }
}

extension URLRequest {
    /// Whether Foundation carries the request although its session uses a client. Default false.
    ///
    /// Foundation on Linux drops the properties of a request. There the flag is stored in `mainDocumentURL`, which
    /// Foundation on Linux neither uses nor sends.
    public var bypassesBeeline: Bool {
        get {
            #if canImport(FoundationNetworking)
            mainDocumentURL?.scheme == Self.bypass
            #else
            URLProtocol.property(forKey: Self.bypass, in: self) != nil
            #endif
        }
        set {
            #if canImport(FoundationNetworking)
            guard newValue != bypassesBeeline else { return }
            mainDocumentURL = newValue ? URL(string: Self.bypass + ":") : nil
            #else
            let copy = (self as AnyObject as? NSURLRequest)?.mutableCopy()
            guard let mutable = copy as? NSMutableURLRequest else { return }
            if newValue {
                URLProtocol.setProperty(true, forKey: Self.bypass, in: mutable)
            } else {
                URLProtocol.removeProperty(forKey: Self.bypass, in: mutable)
            }
            if let request = mutable as AnyObject as? URLRequest { self = request }
            #endif
        }
    }

    private static let bypass = "beeline-bypass"
}
