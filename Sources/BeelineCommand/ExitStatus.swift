// SPDX-License-Identifier: Apache-2.0

/// How the command ended, as its exit code tells: curl's numbers, and those of sysexits(3) where curl has none.
struct ExitStatus: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    init(rawValue: Int32) { self.rawValue = rawValue }

    private init(_ number: Int32) { rawValue = number }

    static let ok = ExitStatus(0)
    static let unsupportedProtocol = ExitStatus(1)
    static let malformedURL = ExitStatus(3)
    static let proxyUnresolved = ExitStatus(5)
    static let hostUnresolved = ExitStatus(6)
    static let connectFailed = ExitStatus(7)
    static let malformedResponse = ExitStatus(8)
    /// The body was cut short.
    static let partialBody = ExitStatus(18)
    /// `--fail`, and the status is 400 or more.
    static let httpError = ExitStatus(22)
    static let writeFailed = ExitStatus(23)
    /// What was to be sent cannot be read.
    static let readFailed = ExitStatus(26)
    static let timedOut = ExitStatus(28)
    /// A download cannot go on where it stopped.
    static let rangeFailed = ExitStatus(33)
    static let tlsFailed = ExitStatus(35)
    static let tooManyRedirects = ExitStatus(47)
    /// An option's value has not the form that the option takes (`--resolve`).
    static let malformedOption = ExitStatus(49)
    static let emptyReply = ExitStatus(52)
    static let receiveFailed = ExitStatus(56)
    static let certificateRejected = ExitStatus(60)
    static let undecodableBody = ExitStatus(61)
    static let tooLarge = ExitStatus(63)
    /// What was to be sent is needed again and can be read only once.
    static let bodyNotReplayable = ExitStatus(65)
    static let unreadableRoots = ExitStatus(77)

    /// EX_USAGE.
    static let usage = ExitStatus(64)
    /// EX_SOFTWARE: a fault of ours.
    static let internalFault = ExitStatus(70)
    /// 128 and SIGINT, as a shell has it.
    static let interrupted = ExitStatus(130)
}
