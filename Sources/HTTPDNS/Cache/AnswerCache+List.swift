// SPDX-License-Identifier: Apache-2.0

extension AnswerCache {
    /// An entry and its place in a list.
    struct Node {
        var key: Key
        var entry: Entry
        var newer: Int32 = -1
        var older: Int32 = -1
        var cost: Int32 = 0
        /// The value of ``AnswerCache/links`` when the node became the newest.
        var linkedAt: UInt32 = 0
        /// Whether the node is in ``AnswerCache/found``.
        var isFound = false
    }

    /// Nodes in the order of use. The nodes of all lists are in one array.
    struct List {
        private(set) var newest: Int32 = -1
        private(set) var oldest: Int32 = -1
        private(set) var count = 0
        /// The estimated size of the entries, in octets.
        var octets = 0

        /// Adds a node as the newest.
        mutating func link(_ index: Int32, in nodes: inout ContiguousArray<Node>) {
            nodes[Int(index)].older = newest
            nodes[Int(index)].newer = -1
            if newest >= 0 { nodes[Int(newest)].newer = index } else { oldest = index }
            newest = index
            count += 1
            octets += Int(nodes[Int(index)].cost)
        }

        /// Removes a node.
        mutating func unlink(_ index: Int32, in nodes: inout ContiguousArray<Node>) {
            let (newer, older) = (nodes[Int(index)].newer, nodes[Int(index)].older)
            if newer >= 0 { nodes[Int(newer)].older = older } else { newest = older }
            if older >= 0 { nodes[Int(older)].newer = newer } else { oldest = newer }
            count -= 1
            octets -= Int(nodes[Int(index)].cost)
        }
    }
}
