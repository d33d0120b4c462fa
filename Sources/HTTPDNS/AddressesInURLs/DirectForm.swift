// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Names

/// The form of requests with an address in the URL: the Host field contains the name.
///
/// Use it only for HTTP stacks that support nothing else. TLS then uses the address as the server name, so the server
/// may send another certificate or none. Cookies are stored for the address. If possible, use a client that connects to
/// the address and keeps the name.
public struct DirectForm: Hashable, Sendable {
    /// Fields that contain a URL or an origin, in which the address is replaced by the name. Default: `Referer` and
    /// `Origin`.
    public var linkFields: [HTTPField.Name] = [.referer, .origin]
    /// Custom fields that contain the name, such as one that a gateway routes by. Default: none.
    public var hostFields: [HTTPField.Name] = []
    /// A query parameter that contains the name, for servers that support it; an existing one is replaced. Default:
    /// nil: none. An empty name also means none.
    public var queryParameter: String?

    /// The defaults.
    public init() {}

    /// A request with an address in its URL.
    public struct Request: Hashable, Sendable {
        /// The URL with the address, in brackets for IPv6; path, query and fragment are unchanged.
        public var url: HTTPURL
        /// The fields, including `Host`.
        public var fields: HTTPFields
    }

    /// The request for a URL at one of its host's endpoints. In a network without IPv4, an IPv4 address is translated
    /// by NAT64; see ``Resolver/resolve(_:port:families:subnet:fresh:)``.
    ///
    /// - Throws: `NameError` if the URL's scheme is not HTTP or HTTPS.
    public func request(
        for url: HTTPURL,
        at endpoint: Endpoint,
        fields: HTTPFields = [:]
    ) throws(NameError) -> Request {
        let origin = Origin(scheme: url.origin.scheme, host: Host(endpoint.address), port: endpoint.port)
        let direct = try HTTPURL(origin: origin, path: url.path, query: query(of: url), fragment: url.fragment)
        var changed = fields
        for (name, value) in changes(of: { fields[$0] }, from: url.origin, to: origin) { changed[name] = value }
        return Request(url: direct, fields: changed)
    }

    /// The fields that the form sets, including `Host`.
    ///
    /// - Parameter value: Returns the request's value of a field.
    package func changes(
        of value: (HTTPField.Name) -> String?,
        from named: Origin,
        to direct: Origin
    ) -> [(name: HTTPField.Name, value: String)] {
        let links = linkFields.compactMap { name in
            value(name).flatMap { renamed($0, from: direct, to: named) }.map { (name, $0) }
        }
        let hosts = hostFields + [HTTPField.Name("Host")].compactMap(\.self)
        return links + hosts.map { ($0, named.authority) }
    }

    /// The query of the request for a URL.
    package func query(of url: HTTPURL) -> String? {
        guard let queryParameter, !queryParameter.isEmpty else { return url.query }
        let name = PercentEncoding.encode(queryParameter, keeping: .unreserved)
        let others = (url.query ?? "").split(separator: "&").filter { $0 != name && !$0.hasPrefix("\(name)=") }
        let own = "\(name)=\(PercentEncoding.encode(url.origin.host.text, keeping: .unreserved))"
        return (others.map(String.init) + [own]).joined(separator: "&")
    }

    /// The value with the name in place of the address; nil if its authority is not the address.
    private func renamed(_ value: String, from direct: Origin, to named: Origin) -> String? {
        let prefix = "\(direct)"
        guard value.hasPrefix(prefix) else { return nil }
        let rest = value.dropFirst(prefix.count)
        guard rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix("?") || rest.hasPrefix("#") else { return nil }
        return "\(named)\(rest)"
    }
}
