// SPDX-License-Identifier: Apache-2.0

package import Beeline
package import Foundation
import HTTPDNS

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLError {
    /// Creates the error that URLSession reports. Its localized description is the message of `error`, and `error` is its
    /// `NSUnderlyingErrorKey`.
    ///
    /// - Parameter url: The URL of the failed request.
    package init(_ error: BeelineError, for url: URL?) {
        self.init(Self.codes[error.code] ?? .unknown, error.message, for: url, because: error)
    }

    init(_ code: URLError.Code, _ message: String, for url: URL?, because error: (any Error)? = nil) {
        var info: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let url {
            info[NSURLErrorFailingURLErrorKey] = url
            // NSURLErrorFailingURLStringErrorKey, which is deprecated on Linux but not on Apple platforms.
            info["NSErrorFailingURLStringKey"] = url.absoluteString
        }
        info[NSUnderlyingErrorKey] = error
        self.init(_nsError: NSError(domain: NSURLErrorDomain, code: code.rawValue, userInfo: info))
    }

    static func missingBody(_ request: URLRequest) -> URLError {
        URLError(
            .requestBodyStreamExhausted,
            "the body of this upload cannot be found: set httpBody or httpBodyStream of the request and make a data task, "
                + "or send it by BeelineClient",
            for: request.url
        )
    }

    private static let codes: [BeelineError.Code: URLError.Code] = [
        .malformedURL: .badURL,
        .unsupportedScheme: .unsupportedURL,
        .tooManyRedirects: .httpTooManyRedirects,
        .proxyUnresolved: .cannotFindHost,
        .invalidRequest: .badURL,
        .unresolved: .cannotFindHost,
        .connectFailed: .cannotConnectToHost,
        .connectTimeout: .timedOut,
        .tlsFailed: .secureConnectionFailed,
        .certificateRejected: .serverCertificateUntrusted,
        .pinMismatch: .serverCertificateUntrusted,
        .echFailed: .secureConnectionFailed,
        .proxyRefused: .cannotConnectToHost,
        .poolExhausted: .timedOut,
        .idleTimeout: .timedOut,
        .deadlineExceeded: .timedOut,
        .connectionLost: .networkConnectionLost,
        .streamReset: .networkConnectionLost,
        .malformedResponse: .badServerResponse,
        .unsupportedVersion: .badServerResponse,
        .responseTooLarge: .dataLengthExceedsMaximum,
        .undecodableBody: .cannotDecodeContentData,
        .bodySourceFailed: .requestBodyStreamExhausted,
        .bodyNotReplayable: .requestBodyStreamExhausted,
        .cancelled: .cancelled,
        .shutDown: .networkConnectionLost,
    ]
}
