// SPDX-License-Identifier: Apache-2.0

#if canImport(Security)
public import Beeline
public import Foundation
import Security

/// Checks the certificate of a server that was dialled by its address in the old form (``DirectRequest``).
///
/// It cannot make the stack send the server name: a server with several certificates shows the one that it has for none.
/// Foundation on Linux asks nobody about certificates.
public enum ServerTrust {
    /// Checks what the server showed against the name, with the system's roots.
    ///
    /// - Parameters:
    ///   - challenge: What `urlSession(_:didReceive:completionHandler:)` was handed.
    ///   - host: Whose certificate it must be; `Resolver.host(for:)` knows it.
    /// - Returns: What the completion handler is to be called with. Challenges of other kinds get the default handling.
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
