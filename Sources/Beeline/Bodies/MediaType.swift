// SPDX-License-Identifier: Apache-2.0

/// The media types that are known by a file's name: those that curl knows.
package enum MediaType {
    private static let byEnding = [
        ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml",
        ".txt": "text/plain", ".htm": "text/html", ".html": "text/html", ".pdf": "application/pdf",
        ".xml": "application/xml",
    ]

    /// The type of a file; `application/octet-stream` where its name tells nothing.
    package static func guess(fileName: String) -> String {
        let name = fileName.lowercased()
        return byEnding.first { name.hasSuffix($0.key) }?.value ?? "application/octet-stream"
    }
}
