// SPDX-License-Identifier: Apache-2.0

/// A value of many parts that is handed from hand to hand: a copy counts one reference instead of one for each part.
final class Shared<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
