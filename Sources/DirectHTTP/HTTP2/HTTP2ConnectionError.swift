// SPDX-License-Identifier: Apache-2.0

/// An error of the peer that ends the connection (RFC 9113 §5.4.1).
struct HTTP2ConnectionError: Error, Equatable {
    let code: HTTP2ErrorCode
    let message: String

    init(_ code: HTTP2ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
