// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import Names

extension HTTPURL {
    /// The URL that a Foundation URL is.
    ///
    /// - Throws: `NameError` where HTTP cannot be asked for it.
    public init(_ url: URL) throws(NameError) {
        try self.init(url.absoluteString)
    }
}
