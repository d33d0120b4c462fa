// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPDNS
import HTTPWire

extension Refusal {
    /// The refusal that a client gets for an error of the policy, the resolver, the dial or the exchange.
    ///
    /// - Parameter place: where the error occurred, for errors that do not contain it.
    init(_ error: any Error, at place: some CustomStringConvertible) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let error as ResolutionError: self.init(Self.status(of: error), error.message)
        case let error as DirectHTTPError: self.init(BeelineError(error), at: place)
        case let error as BeelineError:
            if let refusal = error.underlyingError as? Refusal {
                self = refusal
            } else if let cause = error.underlyingError as? ResolutionError {
                self.init(Self.status(of: cause), error.message)
            } else {
                let slow: [DirectHTTPError.Code] = [.connectTimeout, .idleTimeout, .deadlineExceeded]
                self.init(slow.contains(error.code) ? 504 : 502, error.message)
            }
        default: self.init(502, "\(place): \(error)")
        }
    }

    /// The refusal for a response that cannot be forwarded.
    init(reading error: HTTP1Error) {
        switch error {
        case .tooLarge, .tooManyFields, .trailersTooLarge, .unsupportedCoding:
            self.init(502, "the server's response cannot be read: \(error.message)")
        case .malformed, .malformedTrailers, .lengthTooLarge, .unsupportedVersion, .endedEarly:
            self = .badOrigin(error.message)
        }
    }

    private static func status(of error: ResolutionError) -> Int {
        switch error.code {
        case .bogusAnswer: 403
        case .timeLimit: 504
        case .tooManyLookups, .shutDown: 503
        default: 502
        }
    }
}
