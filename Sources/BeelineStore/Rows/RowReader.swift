// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB

/// Reads a row's columns in order and checks their types, because a file can contain any type in any column.
///
/// A value of another type is nil. A row is invalid if a required value is nil.
struct RowReader {
    private let row: Row
    private var column = 0
    /// The size of the texts and blobs that were read, in octets.
    private(set) var size = 0

    init(_ row: Row) { self.row = row }

    private mutating func next() -> DatabaseValue.Storage {
        guard column < row.count else { return .null }
        defer { column += 1 }
        let value: DatabaseValue = row[column]
        switch value.storage {
        case .string(let text): size += text.utf8.count
        case .blob(let data): size += data.count
        default: break
        }
        return value.storage
    }

    /// Reads an integer.
    mutating func integer() -> Int64? {
        if case .int64(let number) = next() { number } else { nil }
    }

    /// Reads an integer or NULL; the outer nil means another type.
    mutating func optionalInteger() -> Int64?? {
        switch next() {
        case .int64(let number): .some(number)
        case .null: .some(nil)
        default: nil
        }
    }

    /// Reads 0 or 1.
    mutating func boolean() -> Bool? {
        switch integer() {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// Reads a text.
    mutating func text() -> String? {
        if case .string(let text) = next() { text } else { nil }
    }

    /// Reads a blob, or the octets of a text.
    mutating func octets() -> [UInt8]? {
        switch next() {
        case .blob(let data): [UInt8](data)
        case .string(let text): Array(text.utf8)
        default: nil
        }
    }
}
