// SPDX-License-Identifier: Apache-2.0

/// Guesses media types from file names, with the same table as curl.
package enum MediaType {
    private static let byEnding = [
        ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml",
        ".txt": "text/plain", ".htm": "text/html", ".html": "text/html", ".pdf": "application/pdf",
        ".xml": "application/xml",
    ]

    /// Returns the media type of a file; `application/octet-stream` for an unknown extension.
    package static func guess(fileName: String) -> String { known(fileName: fileName) ?? "application/octet-stream" }

    /// Returns the media type of a file; nil for an unknown extension.
    package static func known(fileName: String) -> String? {
        let name = fileName.lowercased()
        return byEnding.first { name.hasSuffix($0.key) }?.value
    }
}
