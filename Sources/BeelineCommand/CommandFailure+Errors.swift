// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

extension CommandFailure {
    /// An argument that is no URL of ours.
    init(url error: NameError) {
        self.init(error.code == .unsupportedScheme ? .unsupportedProtocol : .malformedURL, error.message)
    }

    /// A request that brought no response.
    init(_ error: BeelineError) {
        // The resolver's own words say more than that there is no address.
        let message = (error.underlyingError as? ResolutionError)?.message ?? error.message
        self.init(CommandStatus(error), message + Self.advice(error.code))
    }

    /// A body that did not come to its end.
    init(body error: DirectHTTPError, of url: HTTPURL) {
        let status: CommandStatus =
            switch error.code {
            // The server closed in good order, but too early; otherwise the connection broke.
            case .connectionLost where error.underlyingError == nil: .partialBody
            case .malformedResponse: .receiveFailed
            default: CommandStatus(BeelineError.Code(error.code), isClosedInOrder: error.underlyingError == nil)
            }
        self.init(status, "\(url): \(error.message)")
    }

    /// What to try, where the library's words leave it open because they do not know the options.
    private static func advice(_ code: BeelineError.Code) -> String {
        switch code {
        case .tooManyRedirects: " (--max-redirs)"
        case BeelineError.Code(.certificateRejected): "; --cacert FILE trusts a further CA"
        case BeelineError.Code(.connectTimeout): "; --connect-timeout allows more time"
        case BeelineError.Code(.deadlineExceeded): "; -m allows more time"
        default: ""
        }
    }
}

extension CommandStatus {
    /// curl's number for an error.
    init(_ error: BeelineError) {
        self.init(error.code, isClosedInOrder: error.underlyingError == nil)
    }

    /// curl's number for an error of a request whose response has not come.
    ///
    /// - Parameter isClosedInOrder: whether a connection that was lost ended without an error of the socket.
    init(_ code: BeelineError.Code, isClosedInOrder: Bool) {
        switch code {
        case .malformedURL: self = .malformedURL
        case .unsupportedScheme: self = .unsupportedProtocol
        case .tooManyRedirects: self = .tooManyRedirects
        case .proxyUnresolved: self = .proxyUnresolved
        default: self = Self.exchangeCodes[code] ?? (isClosedInOrder ? .emptyReply : .receiveFailed)
        }
    }

    /// All but `connectionLost`.
    private static let exchangeCodes: [BeelineError.Code: CommandStatus] = {
        let codes: [DirectHTTPError.Code: CommandStatus] = [
            .invalidRequest: .usage, .unresolved: .hostUnresolved, .connectFailed: .connectFailed,
            .connectTimeout: .timedOut, .tlsFailed: .tlsFailed, .certificateRejected: .certificateRejected,
            .pinMismatch: .pinMismatch, .streamReset: .streamReset,
            .proxyRefused: .receiveFailed, .poolExhausted: .internalFault, .idleTimeout: .timedOut,
            .deadlineExceeded: .timedOut, .malformedResponse: .malformedResponse, .responseTooLarge: .tooLarge,
            .undecodableBody: .undecodableBody, .bodySourceFailed: .readFailed,
            .bodyNotReplayable: .bodyNotReplayable, .cancelled: .interrupted, .shutDown: .internalFault,
        ]
        return Dictionary(uniqueKeysWithValues: codes.map { (BeelineError.Code($0.key), $0.value) })
    }()
}
