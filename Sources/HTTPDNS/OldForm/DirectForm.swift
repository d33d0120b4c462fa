// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Names

/// The old form of HTTPDNS: a request whose URL holds the address, and whose Host field holds the name.
///
/// It is for stacks that can take nothing else. TLS is asked for the address there: the server shows the certificate of
/// another name, or none, and cookies are filed under the address. Where you can, hand the request to a client that
/// dials the address and keeps the name.
public struct DirectForm: Hashable, Sendable {
    /// Fields that hold a URL or an origin: where its authority is the address, it becomes the name's. Default:
    /// `Referer` and `Origin`.
    public var linkFields: [HTTPField.Name] = [.referer, .origin]
    /// Fields of the program's own that hold the name, such as one that a gateway routes by. Default: none.
    public var hostFields: [HTTPField.Name] = []
    /// A parameter of the query that holds the name, for servers that cooperate; one that is there is replaced.
    /// Default: nil, none; so is an empty one.
    public var queryParameter: String?

    /// The defaults.
    public init() {}

    /// A request in the old form.
    public struct Request: Hashable, Sendable {
        /// The URL with the address, in brackets where that is IPv6; path, query and fragment as they were.
        public var url: HTTPURL
        /// The fields, `Host` among them.
        public var fields: HTTPFields
    }

    /// The request for a URL at an endpoint that its host was resolved to. In a network without IPv4 that is the
    /// address which stands for an IPv4 one; see ``Resolver/resolve(_:port:families:subnet:fresh:)``.
    ///
    /// - Throws: `NameError` where the URL's scheme is none of HTTP's.
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

    /// The fields that the form sets, `Host` among them.
    ///
    /// - Parameter value: what the request has in a field.
    package func changes(
        of value: (HTTPField.Name) -> String?,
        from named: Origin,
        to direct: Origin
    ) -> [(name: HTTPField.Name, value: String)] {
        let links = linkFields.compactMap { name in
            value(name).flatMap { renamed($0, direct, named) }.map { (name, $0) }
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

    /// The value with the name in place of the address; nil where it does not hold the address as its authority.
    private func renamed(_ value: String, _ direct: Origin, _ named: Origin) -> String? {
        let prefix = "\(direct)"
        guard value.hasPrefix(prefix) else { return nil }
        let rest = value.dropFirst(prefix.count)
        guard rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix("?") || rest.hasPrefix("#") else { return nil }
        return "\(named)\(rest)"
    }
}
