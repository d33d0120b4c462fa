// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The header fields of a URLSession request, including those that its configuration adds.
struct RequestFields {
    private var fields: [String: (name: String, value: String)] = [:]
    /// The Host field of the request, which replaces that of the URL.
    private let host: String?
    /// The `Content-Length` of the request.
    let contentLength: Int64?
    /// The Cookie field.
    let cookie: String?

    /// Fields of the connection, which a request must not set.
    private static let connection = [
        "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    /// The default `Accept-Language` of URLSession.
    private static let languages: String? = {
        #if canImport(FoundationNetworking)
        NSLocale.current.languageCode
        #else
        let preferred = Locale.preferredLanguages.prefix(6)
        guard !preferred.isEmpty else { return nil }
        return preferred.enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ",")
        #endif
    }()

    /// - Parameter decodesContent: Whether the client decodes bodies.
    init(_ request: URLRequest, _ configuration: URLSessionConfiguration, decodesContent: Bool) {
        if let languages = Self.languages { fields["accept-language"] = ("Accept-Language", languages) }
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] {
            fields["\(name)".lowercased()] = ("\(name)", "\(value)")
        }
        for (name, value) in request.allHTTPHeaderFields ?? [:] { fields[name.lowercased()] = (name, value) }
        for name in Self.connection { fields[name] = nil }
        // URLSession decodes the body whatever the request accepts. The client then offers the codings that it can decode.
        if decodesContent, fields["range"] == nil, Self.asksForCoding(fields["accept-encoding"]?.value ?? "") {
            fields["accept-encoding"] = nil
        }
        host = fields.removeValue(forKey: "host")?.value
        contentLength = fields.removeValue(forKey: "content-length").flatMap { Int64($0.value) }
        cookie = fields.removeValue(forKey: "cookie")?.value
    }

    /// Whether an `Accept-Encoding` accepts a coding other than `identity` (RFC 9110 §12.5.3).
    static func asksForCoding(_ field: String) -> Bool {
        field.split(separator: ",").contains { element in
            let parts = element.lowercased().split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let coding = parts.first, !coding.isEmpty, coding != "identity" else { return false }
            return !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }

    /// - Parameter cookie: The cookies that the program set itself.
    /// - Throws: `URLError` with code `badURL` for a field that is not valid in HTTP.
    func request(_ original: URLRequest, hasBody: Bool, cookie: String?) throws(URLError) -> HTTPRequest {
        let method = original.httpMethod ?? "GET"
        guard let method = HTTPRequest.Method(rawValue: method) else {
            throw URLError(.badURL, "\"\(method)\" is not a method", for: original.url)
        }
        var result = HTTPRequest(method: method, scheme: nil, authority: host, path: nil)
        for (name, value) in fields.values.sorted(by: { $0.name < $1.name }) {
            guard let name = HTTPField.Name(name) else {
                throw URLError(.badURL, "\"\(name)\" is not a name of a header field", for: original.url)
            }
            // White space around a value is not part of it (RFC 9110 §5.5).
            let value = value.trimmingCharacters(in: .whitespaces)
            guard HTTPField.isValidValue(value) else {
                throw URLError(.badURL, "the field \(name) has a forbidden character", for: original.url)
            }
            result.headerFields.append(HTTPField(name: name, value: value))
        }
        if let cookie { result.headerFields[.cookie] = cookie }
        // URLSession's default for a body without a type.
        if method == .post, hasBody, result.headerFields[.contentType] == nil {
            result.headerFields[.contentType] = "application/x-www-form-urlencoded"
        }
        return result
    }
}
