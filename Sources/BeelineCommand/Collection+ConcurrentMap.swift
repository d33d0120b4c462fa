// SPDX-License-Identifier: Apache-2.0

extension Collection where Self: Sendable, Element: Sendable {
    /// Transforms the elements with at most `width` tasks at a time. Keeps their order.
    func concurrentMap<Result: Sendable>(
        width: Int,
        _ transform: @escaping @Sendable (Element) async -> Result
    ) async -> [Result] {
        await withTaskGroup(of: (Int, Result).self) { group in
            var results: [Int: Result] = [:]
            for (index, element) in enumerated() {
                if index >= width, let (index, result) = await group.next() { results[index] = result }
                group.addTask { (index, await transform(element)) }
            }
            for await (index, result) in group { results[index] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
