// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What is in folders.
enum FolderListing {
    /// The names of what is in a folder; nil where it cannot be read.
    static func names(in folder: String) -> [String]? { try? FileManager.default.contentsOfDirectory(atPath: folder) }
}
