// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A list of names in a file of its own.
final class ListFolder: Sendable {
    let path = NSTemporaryDirectory() + "/beeline-list-\(UUID().uuidString)"

    init(_ text: String) throws { try replace(with: text) }

    func replace(with text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    deinit { remove() }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
