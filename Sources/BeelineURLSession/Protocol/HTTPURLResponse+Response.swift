// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPURLResponse {
    /// A response as Foundation has it: under the URL that was asked, fields of one name joined by commas.
    static func make(_ head: HTTPResponse, for url: URL?, applicationProtocol: String) -> HTTPURLResponse? {
        // By the name in small letters; the first spelling of it stays.
        var found: [String: (name: String, values: [String])] = [:]
        for field in head.headerFields {
            found[field.name.canonicalName, default: (field.name.rawName, [])].values.append(field.value)
        }
        var fields = Dictionary(found.values.map { ($0.name, $0.values.joined(separator: ", ")) }) { $1 }
        #if canImport(FoundationNetworking)
        // Foundation on Linux takes a task with a Basic challenge over, away from its protocol class, or waits for ever. An
        // empty element before the challenge means nothing in a list (RFC 9110 §5.6.1), and it does not read past it.
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
