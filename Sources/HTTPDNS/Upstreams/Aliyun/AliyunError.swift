// SPDX-License-Identifier: Apache-2.0

/// Maps Aliyun's error codes to ``UpstreamError``.
enum AliyunError {
    /// The error for the code in a reply's body, regardless of the HTTP status; nil if there is no error code.
    static func error(in reply: UpstreamReply, body: JSONValue?) -> UpstreamError? {
        guard let code = body?["code"]?.string, code != "success" else { return nil }
        return UpstreamError(meaning(code), "the service answers \(code.prefix(64)) (HTTP status \(reply.status))")
    }

    private static func meaning(_ code: String) -> UpstreamError.Code {
        switch code {
        case "SignatureExpired", "InvalidDuration": .signatureExpired
        case "InvalidSignature", "UnsignedInterfaceDisabled", "InvalidAccount", "AccountNotExists": .accountRefused
        case "ServiceLevelDeny": .rateLimited
        // Of `beeline serve`.
        case "LookupFailed": .lookupFailed
        case "MissingArgument", "InvalidHost", "LimitExceeded", "TooManyHosts", "SdnsNotSupported",
            "MethodNotAllowed":
            .questionRefused
        // Undocumented codes count as a failure of this server.
        default: .serverFailure
        }
    }
}
