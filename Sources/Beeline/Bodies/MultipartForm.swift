// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP

/// A `multipart/form-data` form (RFC 7578), encoded as browsers encode it.
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", "Sunset")
/// form.add("photo", file: "/tmp/photo.jpg")
/// try await client.post("https://api.example.com/photos", body: form.body)
/// ```
///
/// Files are read while they are sent, not loaded into memory. The length is known if the lengths of all parts are. The form
/// can be sent again, for a redirect or a retry, if all parts can.
public struct MultipartForm: Sendable {
    /// A part of a form.
    package struct Part: Sendable {
        /// The field's name.
        package var name: String
        /// The content. Its `contentType` is that of the part; `nil` sends none, which means text (RFC 7578 §4.4).
        package var body: RequestBody
        /// The file name that the server sees; `nil` if the part is not a file.
        package var fileName: String?

        /// Creates a part.
        package init(_ name: String, _ body: RequestBody, fileName: String? = nil) {
            self.name = name
            self.body = body
            self.fileName = fileName
        }

        /// The header fields of the part. Characters that would end a quoted name are percent-encoded, as browsers do. Control
        /// characters in the type are left out.
        var head: String {
            var head = "Content-Disposition: form-data; name=\"\(Self.escaped(name))\""
            if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
            head += "\r\n"
            if let type = body.contentType {
                head +=
                    "Content-Type: \(String(type.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }))\r\n"
            }
            return head
        }

        private static func escaped(_ name: String) -> String {
            var result = ""
            for scalar in name.unicodeScalars {
                switch scalar {
                case "\"": result += "%22"
                case "\r": result += "%0D"
                case "\n": result += "%0A"
                default: result.unicodeScalars.append(scalar)
                }
            }
            return result
        }
    }

    /// The parts, in sending order.
    package var parts: [Part]
    /// The separator of the parts: 24 dashes and 16 random hexadecimal digits, so that a collision with content is improbable.
    package let boundary: String

    /// Creates an empty form.
    public init() {
        let digits = (0..<16).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
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

    /// Adds a file. The file is read while it is sent.
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

    /// `multipart/form-data` with the boundary.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The form as a request body, with its `Content-Type`.
    public var body: RequestBody {
        var pieces: [RequestBody] = []
        for part in parts {
            pieces.append(.bytes("--\(boundary)\r\n\(part.head)\r\n".utf8))
            pieces.append(part.body)
            pieces.append(.bytes("\r\n".utf8))
        }
        pieces.append(.bytes("--\(boundary)--\r\n".utf8))
        var body = RequestBody.joined(pieces)
        body.contentType = contentType
        return body
    }
}
