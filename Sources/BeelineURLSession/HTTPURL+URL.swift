// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import Names

extension HTTPURL {
    /// Creates an `HTTPURL` from a Foundation URL.
    ///
    /// - Throws: `NameError` if it is not a valid HTTP URL.
    public init(_ url: URL) throws(NameError) {
        try self.init(url.absoluteString)
    }
}
