// SPDX-License-Identifier: Apache-2.0

/// How the command ended, as its exit code tells: curl's numbers, and those of sysexits(3) where curl has none.
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
    /// The body was cut short.
    static let partialBody = CommandStatus(18)
    /// `--fail`, and the status is 400 or more.
    static let httpError = CommandStatus(22)
    static let writeFailed = CommandStatus(23)
    /// What was to be sent cannot be read.
    static let readFailed = CommandStatus(26)
    static let timedOut = CommandStatus(28)
    /// A download cannot go on where it stopped.
    static let rangeFailed = CommandStatus(33)
    static let tlsFailed = CommandStatus(35)
    static let tooManyRedirects = CommandStatus(47)
    /// An option's value has not the form that the option takes (`--resolve`).
    static let malformedOption = CommandStatus(49)
    static let emptyReply = CommandStatus(52)
    static let receiveFailed = CommandStatus(56)
    static let certificateRejected = CommandStatus(60)
    static let undecodableBody = CommandStatus(61)
    static let tooLarge = CommandStatus(63)
    /// What was to be sent is needed again and can be read only once.
    static let bodyNotReplayable = CommandStatus(65)
    static let unreadableRoots = CommandStatus(77)
    /// The server's public key is none of those that are pinned.
    static let pinMismatch = CommandStatus(90)
    /// The server ended the stream of HTTP/2.
    static let streamReset = CommandStatus(92)

    /// A SOCKS proxy refused.
    static let proxyFailed = CommandStatus(97)
    /// EX_USAGE.
    static let usage = CommandStatus(64)
    /// EX_UNAVAILABLE: a port cannot be had.
    static let unavailable = CommandStatus(69)
    /// EX_SOFTWARE: a fault of ours.
    static let internalFault = CommandStatus(70)
    /// 128 and SIGINT, as a shell has it.
    static let interrupted = CommandStatus(130)
}
