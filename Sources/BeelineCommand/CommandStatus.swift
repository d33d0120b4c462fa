// SPDX-License-Identifier: Apache-2.0

/// The command's exit code: curl's number, or the number of sysexits(3) if curl has none.
struct CommandStatus: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    init(rawValue: Int32) { self.rawValue = rawValue }

    private init(_ number: Int32) { rawValue = number }

    static let ok = CommandStatus(0)
    static let unsupportedProtocol = CommandStatus(1)
    static let malformedURL = CommandStatus(3)
    static let proxyUnresolved = CommandStatus(5)
    static let hostUnresolved = CommandStatus(6)
    static let connectFailed = CommandStatus(7)
    static let malformedResponse = CommandStatus(8)
    /// The body is incomplete.
    static let partialBody = CommandStatus(18)
    /// `--fail` was given and the status is 400 or higher.
    static let httpError = CommandStatus(22)
    static let writeFailed = CommandStatus(23)
    /// The body cannot be sent as the server or HTTP/1.0 needs it.
    static let uploadFailed = CommandStatus(25)
    /// An input file or the request body cannot be read.
    static let readFailed = CommandStatus(26)
    static let timedOut = CommandStatus(28)
    /// A download cannot be resumed.
    static let rangeFailed = CommandStatus(33)
    static let tlsFailed = CommandStatus(35)
    /// The value of an option refers to nothing (`#<name>` in `-o`).
    static let badArgument = CommandStatus(43)
    /// The interface or the local address of `--interface` cannot be used.
    static let interfaceFailed = CommandStatus(45)
    static let tooManyRedirects = CommandStatus(47)
    /// The value of an option is malformed (`--resolve`).
    static let malformedOption = CommandStatus(49)
    static let emptyReply = CommandStatus(52)
    static let receiveFailed = CommandStatus(56)
    /// The client certificate or its key cannot be used.
    static let unusableCertificate = CommandStatus(58)
    /// None of the ciphers of `--ciphers` is supported.
    static let unknownCipher = CommandStatus(59)
    static let certificateRejected = CommandStatus(60)
    static let undecodableBody = CommandStatus(61)
    static let tooLarge = CommandStatus(63)
    /// EX_USAGE.
    static let usage = CommandStatus(64)
    /// The request body must be sent again but can be read only once.
    static let bodyNotReplayable = CommandStatus(65)
    /// The URL has a user name, and `--disallow-username-in-url` is given.
    static let loginDenied = CommandStatus(67)
    /// EX_UNAVAILABLE: the port cannot be bound.
    static let unavailable = CommandStatus(69)
    /// EX_SOFTWARE: a bug in the command.
    static let internalFault = CommandStatus(70)
    static let unreadableRoots = CommandStatus(77)
    /// The server's public key matches no pin.
    static let pinMismatch = CommandStatus(90)
    /// The server reset the HTTP/2 stream.
    static let streamReset = CommandStatus(92)
    /// A SOCKS proxy refused the connection.
    static let proxyFailed = CommandStatus(97)
    /// A field of the request, or its fields together, are too large, or the response has too many fields.
    static let fieldsTooLarge = CommandStatus(100)
    /// ECH is required and was not used.
    static let echFailed = CommandStatus(101)
    /// 128 plus SIGINT, the shell's convention.
    static let interrupted = CommandStatus(130)
}
