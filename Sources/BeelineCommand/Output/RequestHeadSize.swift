// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The size of a request head in HTTP/1.1 format. As in curl, HTTP/2 requests are counted in this format too.
struct RequestHeadSize {
    /// The size in bytes.
    let size: Int

    /// - Parameter wire: how the request was written.
    init(_ hop: Hop, wire: WireOptions) {
        let request = hop.request
        // Includes the request line, Host, the fields, Connection and the empty line, with their line breaks.
        var size = request.method.rawValue.utf8.count + (request.path ?? "/").utf8.count + 12
        if wire.sendsHost { size += (request.authority ?? "").utf8.count + 8 }
        if let option = wire.connection(of: request) { size += option.utf8.count + 14 }
        let forwarder = hop.forwardingProxy
        for field in Array(request.headerFields) + Array(forwarder?.forwardedFields ?? [:]) {
            size += field.name.rawName.utf8.count + field.withUnsafeBytesOfValue(\.count) + 4
        }
        if let forwarder {
            // A forwarding proxy gets the absolute URL and its own credentials.
            size += hop.url.origin.serialized.utf8.count
            if let authorization = forwarder.authorization { size += authorization.utf8.count + 23 }
        }
        self.size = size + 2
    }
}
