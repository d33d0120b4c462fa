// SPDX-License-Identifier: Apache-2.0

extension UpstreamService {
    /// Asks a signed question. If the service rejects the signature as expired, sets the clock by the service's time,
    /// signs again and retries once.
    ///
    /// - Parameters:
    ///   - clock: The clock for the signature.
    ///   - make: Makes and signs the request; called again for a retry.
    ///   - read: Parses the reply.
    func askSigned<Result>(
        clock: SigningClock,
        make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        read: (UpstreamReply) throws(UpstreamError) -> Result
    ) async throws(UpstreamError) -> Result {
        var wasCorrected = false
        let correction = clock.correction
        let check: (UpstreamReply) throws(UpstreamError) -> Result? = { (reply) throws(UpstreamError) in
            do throws(UpstreamError) {
                return try read(reply)
            } catch {
                let isRefusal =
                    [.signatureExpired, .accountRefused].contains(error.code) || [401, 403].contains(reply.status)
                if isRefusal, !wasCorrected, clock.correct(by: reply, signedWith: correction) {
                    wasCorrected = true
                    return nil
                }
                // Without TLS, any box on the way can send it, and it would pause the upstream for ten minutes.
                let isBelieved = error.code != .accountRefused || self.isAuthenticated
                throw isBelieved ? error : UpstreamError(.serverFailure, error.message)
            }
        }
        if let result = try await ask(make: make, read: check) { return result }
        guard let result = try await ask(make: make, read: check) else {
            throw UpstreamError(.signatureExpired, "the service rejected the time of the signature")
        }
        return result
    }
}
