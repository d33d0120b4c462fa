// SPDX-License-Identifier: Apache-2.0

/// Holds a value with many parts in one object, so that a copy counts one reference instead of one for each part.
final class Shared<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
