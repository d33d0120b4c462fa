// SPDX-License-Identifier: Apache-2.0

#if canImport(Security)
public import Beeline
public import Foundation
import Security

/// Checks the certificate of a server for a ``DirectRequest``, which uses an address in place of the host name.
///
/// It cannot make URLSession send the server name (SNI): a server with several certificates sends its default one. Foundation
/// on Linux has no challenge for server certificates.
public enum ServerTrust {
    /// Checks the server's certificate for the host name, with the system's root certificates.
    ///
    /// - Parameters:
    ///   - challenge: The challenge of `urlSession(_:didReceive:completionHandler:)`.
    ///   - host: The host that the certificate must match; `Resolver.host(for:)` finds it.
    /// - Returns: The arguments for the completion handler. Challenges of other kinds get the default handling.
    public static func evaluate(
        _ challenge: URLAuthenticationChallenge,
        for host: Names.Host
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust else {
            return (.performDefaultHandling, nil)
        }
        let policy = SecPolicyCreateSSL(true, NSString(string: host.text) as CFString)
        guard SecTrustSetPolicies(trust, policy) == errSecSuccess, SecTrustEvaluateWithError(trust, nil) else {
            return (.cancelAuthenticationChallenge, nil)
        }
        return (.useCredential, URLCredential(trust: trust))
    }
}
#endif
