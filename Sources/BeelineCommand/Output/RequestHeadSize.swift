// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The size of a request head in HTTP/1.1 format. As in curl, HTTP/2 requests are counted in this format too.
struct RequestHeadSize {
    /// The size in bytes.
    let size: Int

    init(_ hop: Hop) {
        let request = hop.request
        // Includes the request line, Host, the fields and the empty line, with their line breaks.
        var size = request.method.rawValue.utf8.count + (request.path ?? "/").utf8.count + 12
        size += (request.authority ?? "").utf8.count + 8
        for field in request.headerFields {
            size += field.name.rawName.utf8.count + field.withUnsafeBytesOfValue(\.count) + 4
        }
        if let proxy = hop.proxy, proxy.kind == .http, !hop.url.origin.scheme.isSecure {
            // A forwarding proxy gets the absolute URL and its own credentials.
            size += hop.url.origin.serialized.utf8.count
            if let authorization = proxy.authorization { size += authorization.utf8.count + 23 }
        }
        self.size = size + 2
    }
}
