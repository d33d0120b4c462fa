// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPURLResponse {
    /// Creates Foundation's response: with the requested URL, and fields of the same name joined by commas.
    static func make(_ head: HTTPResponse, for url: URL?, applicationProtocol: String) -> HTTPURLResponse? {
        // Keyed by lower-case name; the first spelling is kept.
        var found: [String: (name: String, values: [String])] = [:]
        for field in head.headerFields {
            found[field.name.canonicalName, default: (field.name.rawName, [])].values.append(field.value)
        }
        var fields = Dictionary(found.values.map { ($0.name, $0.values.joined(separator: ", ")) }) { $1 }
        #if canImport(FoundationNetworking)
        // For a Basic challenge, Foundation on Linux takes the task away from its protocol class, or waits forever. An empty
        // list element has no meaning (RFC 9110 §5.6.1), but it stops Foundation from parsing the challenge.
        if head.status.code == 401, let key = found["www-authenticate"]?.name {
            fields[key] = fields[key].map { ", \($0)" }
        }
        #endif
        guard let url else { return nil }
        return HTTPURLResponse(
            url: url,
            statusCode: head.status.code,
            httpVersion: applicationProtocol == "h2"
                ? "HTTP/2.0" : applicationProtocol == "http/1.0" ? "HTTP/1.0" : "HTTP/1.1",
            headerFields: fields
        )
    }
}
