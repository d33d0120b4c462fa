// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is remembered beside a part of a download, so that nothing is added to the part of another thing.
struct DownloadNote: Codable, Hashable, Sendable {
    /// The URL that was asked for.
    var url: String
    /// What `If-Range` says: a strong ETag, or a date that is as good (RFC 9110 §13.1.5).
    var validator: String

    /// Nil where the response has no validator that is strong enough to add parts by.
    init?(url: String, _ fields: HTTPFields) {
        self.url = url
        if let tag = fields[.eTag] {
            guard tag.hasPrefix("\"") else { return nil }
            validator = tag
        } else if let modified = fields[.lastModified], let time = HTTPDate.parse(modified),
            let date = fields[.date].flatMap(HTTPDate.parse), date - time >= 60
        {
            // RFC 9110 §8.8.2.2: a resource that may have changed twice in that second is not told apart.
            validator = modified
        } else {
            return nil
        }
    }

    /// The note at a path; nil where there is none that can be read.
    static func read(_ path: String) -> DownloadNote? {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)), data.count <= 64 * 1024 else { return nil }
        return try? JSONDecoder().decode(DownloadNote.self, from: data)
    }

    func write(_ path: String) throws {
        try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
