// SPDX-License-Identifier: Apache-2.0

import HTTPWire

/// A content coding that this build decodes (RFC 9110 §8.4.1).
package enum ContentCoding: String, Sendable, CaseIterable {
    /// RFC 1952.
    case gzip
    /// The zlib format (RFC 1950), or DEFLATE without it (RFC 1951), which some servers send.
    case deflate
    #if Brotli
    /// RFC 7932. In builds with the trait `Brotli`.
    case brotli = "br"
    #endif
    #if Zstandard
    /// RFC 8878, with the window of RFC 9659. In builds with the trait `Zstandard`.
    case zstandard = "zstd"
    #endif

    /// The coding of a name in any case; nil if this build does not decode it.
    package init?(_ name: some StringProtocol) {
        let name = name.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// The names of a `Content-Encoding` that change the body, in order. Some servers write `none` for `identity`.
    package static func names(fieldValue: String) -> [Substring] {
        fieldValue.listElements.filter { !["identity", "none"].contains($0.lowercased()) }
    }

    /// The codings of a `Content-Encoding` value in the order in which they were applied. Empty if one is not supported or if
    /// there are more than ``ContentDecoder/maxCodings``; the body is then not decoded.
    package static func list(fieldValue: String) -> [ContentCoding] {
        let names = names(fieldValue: fieldValue)
        let codings = names.compactMap { ContentCoding($0) }
        return codings.count == names.count && names.count <= ContentDecoder.maxCodings ? codings : []
    }

    /// The value of `Accept-Encoding` that offers every coding of this build.
    package static let offer = allCases.map(\.rawValue).joined(separator: ", ")

    /// The name for messages.
    var name: String { rawValue == "br" ? "brotli" : rawValue }

    /// The error for a body that is not in this coding.
    var mismatch: String { "Content-Encoding is \(name), but the body is damaged or not in that coding" }

    func makeCodec() -> any ContentCodec {
        switch self {
        case .gzip, .deflate: ZlibCodec(self)
        #if Brotli
        case .brotli: BrotliCodec()
        #endif
        #if Zstandard
        case .zstandard: ZstandardCodec()
        #endif
        }
    }
}
