// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes

extension MultipartForm {
    /// A part of a form.
    public struct Part: Sendable {
        /// The field's name; nil for a part without one.
        public var name: String?
        /// The content. Its `contentType` is that of the part. With `nil` the part has no type, which means text (RFC
        /// 7578 §4.4). The body of another form makes a nested multipart (RFC 7578 §4.3).
        public var body: RequestBody
        /// The file name that the server sees; `nil` if the part is not a file.
        public var fileName: String?
        /// Further fields of the part. A `Content-Disposition` or `Content-Type` among them replaces the part's own.
        public var fields: HTTPFields = [:]
        /// The encoding of the content, with its `Content-Transfer-Encoding`. With nil, the bytes are sent unchanged
        /// and without that field.
        package var encoding: TransferEncoding?

        /// Creates a part.
        public init(_ name: String?, _ body: RequestBody, fileName: String? = nil) {
            self.name = name
            self.body = body
            self.fileName = fileName
        }

        /// The header fields of the part. Characters that would end a quoted name are encoded. Control characters in the type are
        /// left out.
        func head(disposition: String, escaping: NameEscaping) -> String {
            var head = ""
            let names = Set(fields.map(\.name.canonicalName))
            let isNamed = name != nil || fileName != nil
            if !names.contains("content-disposition"), isNamed || disposition != "attachment" {
                head += "Content-Disposition: \(disposition)"
                if let name { head += "; name=\"\(Self.escaped(name, escaping))\"" }
                if let fileName { head += "; filename=\"\(Self.escaped(fileName, escaping))\"" }
                head += "\r\n"
            }
            if let type = body.contentType, !names.contains("content-type") {
                head +=
                    "Content-Type: \(String(type.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }))\r\n"
            }
            if let encoding, !names.contains("content-transfer-encoding") {
                head += "Content-Transfer-Encoding: \(encoding.rawValue)\r\n"
            }
            for field in fields { head += "\(field.name.rawName): \(field.value)\r\n" }
            return head
        }

        private static func escaped(_ name: String, _ escaping: NameEscaping) -> String {
            var result = ""
            for scalar in name.unicodeScalars {
                switch scalar {
                case "\"": result += escaping == .percent ? "%22" : "\\\""
                case "\\" where escaping == .backslash: result += "\\\\"
                case "\r": result += "%0D"
                case "\n": result += "%0A"
                default: result.unicodeScalars.append(scalar)
                }
            }
            return result
        }
    }
}
