// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
import AsyncHTTPClient
import Beeline
import HTTPTypes
import NIOCore
import NIOHTTP1

extension HTTPClientResponse {
    /// Converts a response. `history` has a request and response head for each hop; AsyncHTTPClient derives `url` from it.
    init(_ response: Response) {
        var headers = HTTPHeaders()
        // Without the fields of the encoded body if it is decoded: a program may relay headers and body.
        let isDecoded = response.body.isDecoded
        for field in response.fields
        where !isDecoded || field.name != .contentEncoding && field.name != .contentLength {
            headers.add(name: field.name.rawName, value: field.value)
        }
        self.init(
            version: response.hop.version,
            status: HTTPResponseStatus(statusCode: response.status.code, reasonPhrase: response.status.reasonPhrase),
            headers: headers,
            body: .stream(response.body),
            history: response.hops.map { hop in
                var request = HTTPClientRequest(url: hop.url.description)
                request.method = HTTPMethod(rawValue: hop.method.rawValue)
                let status = HTTPResponseStatus(statusCode: hop.status.code)
                return HTTPClientRequestResponse(
                    request: request,
                    responseHead: HTTPResponseHead(version: hop.version, status: status)
                )
            }
        )
    }
}

extension Hop {
    /// The HTTP version of the hop.
    fileprivate var version: HTTPVersion {
        switch applicationProtocol {
        case "h2": .http2
        case "http/1.0": .http1_0
        default: .http1_1
        }
    }
}
#endif
