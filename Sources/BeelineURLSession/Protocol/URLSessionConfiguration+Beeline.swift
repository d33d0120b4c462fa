// SPDX-License-Identifier: Apache-2.0

public import Beeline

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension URLSessionConfiguration {
    /// A configuration whose sessions are carried by a client.
    ///
    /// Make it once and use it for many sessions: it brings a class of its own, which stays, as does the client.
    ///
    /// - Parameters:
    ///   - client: Who carries the requests.
    ///   - settings: Which requests, and where the cookies are.
    ///   - base: The configuration to begin with, which is changed; its cookie storage, timeouts and additional header
    ///     fields mean what they mean without us.
    public static func beeline(
        _ client: BeelineClient,
        settings: BeelineURLProtocol.Settings = BeelineURLProtocol.Settings(),
        base: URLSessionConfiguration = .default
    ) -> URLSessionConfiguration {
        let type = Doors.makeClass()
        let door = Door(client, settings, base)
        Doors[type] = door
        #if canImport(FoundationNetworking)
        base.urlCache = base.urlCache.map { SparedCache($0, door) }
        #endif
        base.protocolClasses = [type] + (base.protocolClasses ?? [])
        return base
    }
}

extension URLRequest {
    /// Whether the request is left to Foundation although its session is carried by us. Default false.
    ///
    /// On Linux, where Foundation forgets the properties of a request, it is written into `mainDocumentURL`, which nothing
    /// there reads and which is not sent.
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
