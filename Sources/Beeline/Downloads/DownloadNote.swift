// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Metadata stored beside a partial file, so that a resume never appends bytes of another resource or version.
struct DownloadNote: Codable, Hashable, Sendable {
    var url: String
    /// The value of `If-Range`: a strong ETag, or a date that counts as strong (RFC 9110 §13.1.5).
    var validator: String

    /// Creates a note; `nil` if the response has no strong validator.
    init?(url: String, fields: HTTPFields) {
        self.url = url
        if let tag = fields[.eTag] {
            guard tag.hasPrefix("\"") else { return nil }
            validator = tag
        } else if let modified = fields[.lastModified], let time = HTTPDate.parse(modified),
            let date = fields[.date].flatMap(HTTPDate.parse), date - time >= 60
        {
            // RFC 9110 §8.8.2.2: a date is weak if the resource may have changed twice within that second.
            validator = modified
        } else {
            return nil
        }
    }

    /// Whether a part with these fields, or the refusal of one, may be of the same version. A server may ignore `If-Range`,
    /// and neither need have a validator.
    func allowsPart(_ fields: HTTPFields) -> Bool {
        if let tag = fields[.eTag] { return tag == validator }
        let isDate = !validator.hasPrefix("\"")
        guard isDate, let modified = fields[.lastModified] else { return true }
        return modified == validator
    }

    /// Reads the note at a path; `nil` if there is none or it is not valid.
    static func read(from path: String) -> DownloadNote? {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)), data.count <= 64 * 1024 else { return nil }
        return try? JSONDecoder().decode(DownloadNote.self, from: data)
    }

    func write(to path: String) throws {
        try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
