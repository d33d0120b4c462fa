// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

extension CommandFailure {
    /// Makes a failure from an invalid URL argument.
    init(url error: NameError) {
        // The command has no WebSockets.
        let message = error.message.replacing("is not http, https, ws or wss", with: "is not http or https")
        self.init(error.code == .unsupportedScheme ? .unsupportedProtocol : .malformedURL, message)
    }

    /// Makes a failure from a request without a response.
    init(_ error: BeelineError) {
        // The resolver's message explains why there is no address, unless a time limit of the request cancelled it.
        let cause = (error.underlyingError as? ResolutionError).flatMap { $0.code == .cancelled ? nil : $0 }
        let message = cause?.message ?? error.message
        self.init(CommandStatus(error), Self.withOptions(message) + Self.advice(error.code, message))
    }

    /// The failure with the URL in its message, if the library's message names neither the URL nor an endpoint.
    ///
    /// - Parameter shownURL: the URL of the transfer, for errors that belong to no request.
    func naming(_ error: BeelineError, shownURL: String) -> CommandFailure {
        // The library's messages have the origin only, because a URL may have secrets.
        if let url = error.failedURL, message.hasPrefix("\(url.origin): ") {
            return CommandFailure(status, "\(url)\(message.dropFirst("\(url.origin)".count))", isQuiet: isQuiet)
        }
        guard [BeelineError.Code.deadlineExceeded, .connectionLost, .idleTimeout].contains(error.code) else {
            return self
        }
        let url = error.failedURL
        guard url.map({ !message.contains($0.origin.serialized) }) ?? true else { return self }
        return CommandFailure(status, "\(url.map { "\($0)" } ?? shownURL): \(message)", isQuiet: isQuiet)
    }

    /// Advice in the library's messages, and the command's options for it.
    private static let options = [
        (HTTPSRecordRemedy.keepHTTP, "--no-https-records keeps http"),
        ("see TLSSettings.minVersion", "see --tlsv1.0 and --tls-max"),
        ("set TLSSettings.identity", "give it with -E and --key"),
        ("of TLSSettings.rootPEMs", "of --cacert"),
        ("use RequestBody.stream", "send it from a file"),
        ("RedirectRules.schemes does", "--proto-redir does"),
        (
            "allow local answers if this is intended",
            "--allow-local-answers accepts it, and --no-httpdns asks the system's resolver only"
        ),
        // The command has no option for these limits.
        ("; raise maxHeadBytes to read it", ""),
        (": stream it, or allow more", ""),
    ]

    /// The message with the command's options in place of the library's settings.
    static func withOptions(_ message: String) -> String {
        let message = options.reduce(message) { text, option in text.replacing(option.0, with: option.1) }
        return ECHRemedy.allCases.reduce(message) { text, remedy in
            let options =
                switch remedy {
                case .turnOff: "--ech false shows the server name instead"
                case .configure: "write --ech ecl:@FILE, with a list of the site, or --ech true"
                }
            return text.replacing(remedy.rawValue, with: options)
        }
    }

    /// Makes a failure from an incomplete response body.
    init(body error: DirectHTTPError, of url: HTTPURL) {
        let status: CommandStatus =
            switch error.code {
            // The server closed the connection cleanly but before the end of the body.
            case .connectionLost where error.underlyingError == nil: .partialBody
            case .malformedResponse where !error.hasMalformedTrailers: .receiveFailed
            case .responseTooLarge: CommandStatus(tooLarge: error)
            default: CommandStatus(error.code, isClosedInOrder: error.underlyingError == nil)
            }
        self.init(status, "\(url): \(Self.withOptions(error.message))")
    }

    /// Names the option that may help. The library's messages do not know the command's options.
    private static func advice(_ code: BeelineError.Code, _ message: String) -> String {
        switch code {
        case .tooManyRedirects: message.hasSuffix(HTTPSRecordRemedy.keepHTTP) ? "" : " (--max-redirs)"
        // A further CA does not help against a certificate of another name, or one that has expired.
        case .certificateRejected: message.contains("no trusted issuer") ? "; --cacert FILE trusts a further CA" : ""
        case .connectTimeout: "; --connect-timeout allows more time"
        case .deadlineExceeded: "; -m allows more time"
        default: ""
        }
    }
}

extension CommandStatus {
    /// Maps an error to curl's exit code.
    init(_ error: BeelineError) {
        // As in curl, a refused tunnel is a failure to connect; a refusal with a malformed body, and a head that is too large, are
        // failures to receive.
        if let cause = error.underlyingError as? DirectHTTPError, cause.code == .proxyRefused, cause.response != nil {
            self = cause.hasBrokenBody ? .receiveFailed : .connectFailed
        } else if error.code == .responseTooLarge {
            self.init(tooLarge: error.underlyingError as? DirectHTTPError)
        } else {
            self.init(error.code, isClosedInOrder: error.underlyingError == nil)
        }
    }

    /// Maps an error of a head, or of trailers, with too many bytes or fields to curl's exit code.
    init(tooLarge error: DirectHTTPError?) {
        self = error?.hasTooManyFields == true ? .fieldsTooLarge : .receiveFailed
    }

    /// Maps an error of a request without a response to curl's exit code.
    ///
    /// - Parameter isClosedInOrder: whether a lost connection ended without a socket error.
    init(_ code: BeelineError.Code, isClosedInOrder: Bool) {
        self = Self.byCode[code] ?? (isClosedInOrder ? .emptyReply : .receiveFailed)
    }

    /// Exit codes for the codes that a command can get, except `connectionLost`.
    private static let byCode: [BeelineError.Code: CommandStatus] = [
        .malformedURL: .malformedURL, .unsupportedScheme: .unsupportedProtocol, .tooManyRedirects: .tooManyRedirects,
        .proxyUnresolved: .proxyUnresolved, .invalidRequest: .usage, .unresolved: .hostUnresolved,
        .connectFailed: .connectFailed, .connectTimeout: .timedOut, .tlsFailed: .tlsFailed,
        .certificateRejected: .certificateRejected, .pinMismatch: .pinMismatch, .echFailed: .echFailed,
        .streamReset: .streamReset, .proxyRefused: .receiveFailed, .poolExhausted: .internalFault,
        .idleTimeout: .timedOut, .deadlineExceeded: .timedOut, .malformedResponse: .malformedResponse,
        .responseTooLarge: .tooLarge, .unsupportedVersion: .unsupportedProtocol, .undecodableBody: .undecodableBody,
        .bodySourceFailed: .readFailed, .bodyNotReplayable: .bodyNotReplayable, .cancelled: .interrupted,
        .shutDown: .internalFault,
    ]
}
