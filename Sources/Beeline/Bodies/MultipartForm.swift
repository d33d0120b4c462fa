// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP

/// A `multipart/form-data` form (RFC 7578), encoded as browsers encode it.
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", "Sunset")
/// form.add("photo", file: "/tmp/photo.jpg")
/// let response = try await client.post("https://api.example.com/photos", body: form.body)
/// ```
///
/// Files are read while they are sent, not loaded into memory. The length is known if the lengths of all parts are. The form
/// can be sent again, for a redirect or a retry, if all parts can.
public struct MultipartForm: Sendable {
    /// How to write names with characters that are not allowed in quotes.
    package enum NameEscaping: Hashable, Sendable {
        /// Quotes and line ends are percent-encoded, as browsers do (WHATWG HTML §4.10.22.8).
        case percent
        /// Quotes and backslashes get a backslash in front, as with curl's `--form-escape`. Line ends are
        /// percent-encoded.
        case backslash
    }

    /// The parts, in sending order.
    public var parts: [Part]
    /// How names are written. Default: as browsers do.
    package var escaping = NameEscaping.percent
    /// The media type of the form, without its boundary. Default `multipart/form-data`. If it is another type, the
    /// parts are attachments.
    public var mediaType = "multipart/form-data"
    /// The separator of the parts: 24 dashes and 22 random hexadecimal digits, so that a collision with content is improbable.
    package let boundary: String

    /// Creates an empty form.
    public init() {
        let digits = (0..<22).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        self.init([], boundary: String(repeating: "-", count: 24) + digits)
    }

    package init(_ parts: [Part], boundary: String) {
        self.parts = parts
        self.boundary = boundary
    }

    /// Adds a text field.
    public mutating func add(_ name: String, _ value: String) {
        parts.append(Part(name, .bytes(value.utf8)))
    }

    /// Adds a file. The file is read while it is sent. A file that cannot be read fails the request with
    /// `bodySourceFailed`, not this call.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - path: The path of the file.
    ///   - fileName: The file name that the server sees; `nil` uses the last component of the path.
    ///   - type: The media type; `nil` guesses it from the extension.
    public mutating func add(_ name: String, file path: String, fileName: String? = nil, type: String? = nil) {
        let last = String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
        var body = RequestBody.file(path)
        body.contentType = type ?? MediaType.guess(fileName: path)
        parts.append(Part(name, body, fileName: fileName ?? last))
    }

    /// Adds a part with any body.
    public mutating func add(_ name: String, _ body: RequestBody, fileName: String? = nil) {
        parts.append(Part(name, body, fileName: fileName))
    }

    /// ``mediaType`` with the boundary.
    public var contentType: String { "\(mediaType); boundary=\(boundary)" }

    /// The form as a request body, with its `Content-Type`.
    public var body: RequestBody {
        let isFormData = mediaType.lowercased().hasPrefix("multipart/form-data")
        var pieces: [RequestBody] = []
        for part in parts {
            let head = part.head(disposition: isFormData ? "form-data" : "attachment", escaping: escaping)
            pieces.append(.bytes("--\(boundary)\r\n\(head)\r\n".utf8))
            pieces.append(part.encoding.map(part.body.encoded) ?? part.body)
            pieces.append(.bytes("\r\n".utf8))
        }
        pieces.append(.bytes("--\(boundary)--\r\n".utf8))
        var body = RequestBody.joined(pieces)
        body.contentType = contentType
        return body
    }
}
