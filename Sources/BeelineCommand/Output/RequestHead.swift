// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A request's head as it is on the wire of HTTP/1.1: what curl counts, with HTTP/2 too.
struct RequestHead {
    /// How many bytes it has.
    let size: Int

    init(_ hop: Hop) {
        let request = hop.request
        // "GET / HTTP/1.1", "Host: name", fields, each with its end, and an empty line.
        var size = request.method.rawValue.utf8.count + (request.path ?? "/").utf8.count + 12
        size += (request.authority ?? "").utf8.count + 8
        for field in request.headerFields {
            size += field.name.rawName.utf8.count + field.withUnsafeBytesOfValue(\.count) + 4
        }
        if let proxy = hop.proxy, proxy.kind == .http, !hop.url.origin.scheme.isSecure {
            // A proxy that forwards gets the whole URL, and its own credentials.
            size += hop.url.origin.serialized.utf8.count
            if let authorization = proxy.authorization { size += authorization.utf8.count + 23 }
        }
        self.size = size + 2
    }
}
