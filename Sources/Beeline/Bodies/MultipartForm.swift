// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP

/// A form as `multipart/form-data` (RFC 7578), as browsers send it.
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", "Sunset")
/// form.add("photo", file: "/tmp/photo.jpg")
/// try await client.post("https://api.example.com/photos", body: form.body)
/// ```
///
/// Files are read while they are sent and need no memory. The length is known where those of all parts are, and the form can
/// be sent again, for a redirect or a retry, where all parts can.
public struct MultipartForm: Sendable {
    /// One part.
    public struct Part: Sendable {
        /// The field's name.
        public var name: String
        /// What is in it. Its `contentType` is that of the part; nil: none is said, which means text (RFC 7578 §4.4).
        public var body: RequestBody
        /// The name that a file has at the server; nil: it is no file.
        public var fileName: String?

        /// A part.
        public init(_ name: String, _ body: RequestBody, fileName: String? = nil) {
            self.name = name
            self.body = body
            self.fileName = fileName
        }

        /// The part's header fields. Characters that would end the quoted names are percent-encoded, as browsers do; what
        /// would end the line of the type is left out.
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

    /// The parts, in the order in which they are sent.
    public var parts: [Part]
    /// What separates the parts: 24 dashes and 16 random hexadecimal digits, which no file has by chance.
    public let boundary: String

    /// A form of parts.
    public init(_ parts: [Part] = []) {
        let digits = (0..<16).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        self.init(parts, boundary: String(repeating: "-", count: 24) + digits)
    }

    package init(_ parts: [Part], boundary: String) {
        self.parts = parts
        self.boundary = boundary
    }

    /// Adds a field with a text.
    public mutating func add(_ name: String, _ value: String) {
        parts.append(Part(name, .bytes(value.utf8)))
    }

    /// Adds a file, which is read while it is sent.
    ///
    /// - Parameters:
    ///   - name: the field's name.
    ///   - path: the file.
    ///   - fileName: its name at the server; nil: the last part of the path.
    ///   - type: its media type; nil: by the ending of its name.
    public mutating func add(_ name: String, file path: String, fileName: String? = nil, type: String? = nil) {
        let last = String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
        var body = RequestBody.file(path)
        body.contentType = type ?? MediaType.guess(fileName: path)
        parts.append(Part(name, body, fileName: fileName ?? last))
    }

    /// Adds a part whose body is anything.
    public mutating func add(_ name: String, _ body: RequestBody, fileName: String? = nil) {
        parts.append(Part(name, body, fileName: fileName))
    }

    /// `multipart/form-data` with the boundary.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The form as the body of a request, with its `Content-Type`.
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
