// SPDX-License-Identifier: Apache-2.0

/// An element of an array that is used where it stands.
///
/// A URL taken out of an array is copied, and its texts are retained and released: atomic writes to six places of memory,
/// which is a tenth of a lookup, and no part of it.
struct InPlace<Value>: ~Copyable {
    let value: Value

    /// Calls `body` with the elements of an array. The layout of a structure of one field is that of the field.
    static func withAll(_ values: [Value], _ body: (UnsafeBufferPointer<InPlace>) -> Void) {
        values.withUnsafeBufferPointer { $0.withMemoryRebound(to: InPlace.self, body) }
    }
}
