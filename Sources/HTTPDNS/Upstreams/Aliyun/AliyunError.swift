// SPDX-License-Identifier: Apache-2.0

/// What Aliyun's error codes mean to a resolver.
enum AliyunError {
    /// The error that a reply stands for, by the code in its body, whatever its status; nil for a reply without code.
    static func error(_ reply: UpstreamReply, _ body: JSONValue?) -> UpstreamError? {
        guard let code = body?["code"]?.string, code != "success" else { return nil }
        return UpstreamError(meaning(code), "the service answers \(code.prefix(64)) (HTTP status \(reply.status))")
    }

    private static func meaning(_ code: String) -> UpstreamError.Code {
        switch code {
        case "SignatureExpired", "InvalidDuration": .signatureExpired
        case "InvalidSignature", "UnsignedInterfaceDisabled", "InvalidAccount", "AccountNotExists": .accountRefused
        case "ServiceLevelDeny": .rateLimited
        case "MissingArgument", "InvalidHost", "LimitExceeded", "TooManyHosts", "SdnsNotSupported",
            "MethodNotAllowed":
            .questionRefused
        // Codes that nobody has documented are taken for a bad day of this address.
        default: .serverFailure
        }
    }
}

extension UpstreamService {
    /// Asks a signed question. Where the service takes the signature for expired, the clock is set by the service's
    /// own, and the question is signed and sent once more.
    ///
    /// - Parameters:
    ///   - clock: What the signature's time is read from.
    ///   - make: Makes the request; it is signed anew each time.
    ///   - read: What the reply says.
    func askSigned<Result>(
        _ clock: SigningClock,
        _ make: (inout UpstreamRequest) throws(UpstreamError) -> Void,
        _ read: (UpstreamReply) throws(UpstreamError) -> Result
    ) async throws(UpstreamError) -> Result {
        var wasCorrected = false
        let correction = clock.correction
        let check: (UpstreamReply) throws(UpstreamError) -> Result? = { (reply) throws(UpstreamError) in
            do throws(UpstreamError) {
                return try read(reply)
            } catch {
                let isRefusal = error.code == .signatureExpired || error.code == .accountRefused
                guard isRefusal, !wasCorrected, clock.correct(by: reply, signedWith: correction) else { throw error }
                wasCorrected = true
                return nil
            }
        }
        if let result = try await ask(make, check) { return result }
        guard let result = try await ask(make, check) else {
            throw UpstreamError(.signatureExpired, "the signature's time is not taken")
        }
        return result
    }
}
