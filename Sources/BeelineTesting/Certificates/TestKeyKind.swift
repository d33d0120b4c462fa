// SPDX-License-Identifier: Apache-2.0

import Crypto
import X509

/// The kind of a test certificate's key.
package enum TestKeyKind: Sendable {
    case p256
    case p521
    case ed25519

    func makeKey() -> Certificate.PrivateKey {
        switch self {
        case .p256: Certificate.PrivateKey(P256.Signing.PrivateKey())
        case .p521: Certificate.PrivateKey(P521.Signing.PrivateKey())
        case .ed25519: Certificate.PrivateKey(Curve25519.Signing.PrivateKey())
        }
    }
}
