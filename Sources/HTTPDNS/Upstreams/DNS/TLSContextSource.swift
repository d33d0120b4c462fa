// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOSSL

/// Creates a TLS context on first use, because reading the system's root certificates takes milliseconds.
final class TLSContextSource: Sendable {
    private let settings: TLSSettings
    private let checksName: Bool
    private let made = NIOLockedValueBox<NIOSSLContext?>(nil)

    /// - Parameter checksName: As in `TLSSettings.context`.
    init(_ settings: TLSSettings, checksName: Bool = true) {
        self.settings = settings
        self.checksName = checksName
    }

    func context() throws -> NIOSSLContext {
        try made.withLockedValue { made in
            if let made { return made }
            let context = try settings.context(applicationProtocols: ["dot"], checksName: checksName)
            made = context
            return context
        }
    }
}
