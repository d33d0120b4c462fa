// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Lists folders.
enum FolderListing {
    /// Returns the names in a folder; nil if it cannot be read.
    static func names(in folder: String) -> [String]? { try? FileManager.default.contentsOfDirectory(atPath: folder) }
}
