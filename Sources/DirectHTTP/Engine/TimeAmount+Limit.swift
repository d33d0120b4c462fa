// SPDX-License-Identifier: Apache-2.0

package import NIOCore

extension TimeAmount {
    /// A time limit, at least zero. NIO's initializer turns a very negative duration into the longest time.
    package init(limit: Duration) {
        self.init(max(.zero, limit))
    }
}
