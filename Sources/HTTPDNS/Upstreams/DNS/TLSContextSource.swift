// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOSSL

/// Makes a TLS context when it is first needed: reading the system's roots costs milliseconds.
final class TLSContextSource: Sendable {
    private let settings: TLSSettings
    private let made = NIOLockedValueBox<NIOSSLContext?>(nil)

    init(_ settings: TLSSettings) {
        self.settings = settings
    }

    func context() throws -> NIOSSLContext {
        try made.withLockedValue { made in
            if let made { return made }
            let context = try settings.context(applicationProtocols: ["dot"])
            made = context
            return context
        }
    }
}
