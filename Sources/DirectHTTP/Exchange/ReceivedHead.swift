// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import HTTPWire
public import NIOCore

/// The head of a response as the server sent it: an informational response (RFC 9110 §15.2), a redirect, a challenge or the final
/// response.
public struct ReceivedHead: Sendable, Hashable {
    /// Status and fields.
    public let response: HTTPResponse
    /// Status line, field lines and the empty line. Over HTTP/1 these are the bytes as received. Over HTTP/2 they are written in
    /// the form of HTTP/1, with the version `HTTP/2` and the names in lower case.
    public let raw: ByteBuffer

    init(_ response: HTTPResponse, raw: ByteBuffer) {
        self.response = response
        // Copy the bytes: `raw` is a slice of the socket's buffer, which a kept value would keep.
        self.raw = ByteBuffer(bytes: raw.readableBytesView)
    }

    /// Creates the head of an HTTP/2 response.
    init(_ response: HTTPResponse) {
        var raw = ByteBuffer(string: "HTTP/2 \(response.status.code) \r\n")
        for field in response.headerFields { raw.writeField(field) }
        raw.writeStaticString("\r\n")
        self.response = response
        self.raw = raw
    }
}
