// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// An error of the peer that ends the connection (RFC 9113 §5.4.1).
package struct HTTP2ConnectionError: Error, Equatable {
    package let code: HTTP2ErrorCode
    package let message: String
    /// Whether a header block is larger than allowed. Floods have the same error code.
    package let isTooLarge: Bool

    package init(_ code: HTTP2ErrorCode, _ message: String, isTooLarge: Bool = false) {
        self.code = code
        self.message = message
        self.isTooLarge = isTooLarge
    }
}
