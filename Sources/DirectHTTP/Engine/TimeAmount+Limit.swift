// SPDX-License-Identifier: Apache-2.0

package import NIOCore

extension TimeAmount {
    /// A time limit, at least zero. NIO's initializer makes the longest time of a very negative duration.
    package init(limit: Duration) {
        self.init(max(.zero, limit))
    }
}
