// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOSSL

/// Makes a TLS context when it is first needed: reading the system's roots costs milliseconds.
final class TLSContextSource: Sendable {
    private let settings: TLSSettings
    private let checksName: Bool
    private let made = NIOLockedValueBox<NIOSSLContext?>(nil)

    /// - Parameter checksName: as in `TLSSettings.context`.
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
