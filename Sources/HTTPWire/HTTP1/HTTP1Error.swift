// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes are not an HTTP/1.x message (RFC 9112). The text completes "what the peer sent is not HTTP: …".
package enum HTTP1Error: Error, Equatable {
    /// The message breaks a rule, or could be read in two ways.
    case malformed(String)
    /// The trailer section of the body is not a list of fields.
    case malformedTrailers(String)
    /// The length of the body is a number that does not fit 64 bits.
    case lengthTooLarge(String)
    /// The status line has another version of HTTP, or cannot be read.
    case unsupportedVersion(String)
    /// The body has a transfer coding that no request asks for.
    case unsupportedCoding(String)
    /// A head has more bytes than its limit.
    case tooLarge(String)
    /// A head or a trailer section has more fields than this limit.
    case tooManyFields(Int)
    /// The trailer section is larger than its limit.
    case trailersTooLarge
    /// The connection ended inside a message.
    case endedEarly(String)

    /// The text of the error.
    package var message: String {
        switch self {
        case .malformed(let message), .malformedTrailers(let message), .lengthTooLarge(let message),
            .unsupportedVersion(let message), .unsupportedCoding(let message), .tooLarge(let message),
            .endedEarly(let message):
            message
        case .tooManyFields(let limit): "it has more than \(limit) header fields"
        case .trailersTooLarge: "its trailers are too large"
        }
    }
}
