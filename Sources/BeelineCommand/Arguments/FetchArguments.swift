// SPDX-License-Identifier: Apache-2.0

/// The values of the options of `fetch`, for a whole command line or for one part of it if `--next` divides it.
struct FetchArguments: Hashable, Sendable {
    /// The URLs of this part, in the order given.
    var urls: [URLArgument] = []
    var request = RequestArguments()
    var output = OutputArguments()
    var transfer = TransferArguments()
    var message = MessageOptions()
    var login = LoginOptions()
    var connection = ConnectionArguments()
    var redirect = RedirectOptions()
    var proxy = ProxyOptions()
    var tls = TLSOptions()
    var socket = SocketOptions()
    var names = NameOptions()
    var cookies = CookieArguments()
    /// The options that apply to the whole command line.
    var session = SessionArguments()

    /// The groups of options, in the order of ``FetchCommand``'s help.
    static let groups: [any FetchOptionGroup.Type] = [
        RequestArguments.self, MessageOptions.self, LoginOptions.self, OutputArguments.self, TransferArguments.self,
        ConnectionArguments.self, RedirectOptions.self, ProxyOptions.self, TLSOptions.self, SocketOptions.self,
        NameOptions.self, CookieArguments.self, SessionArguments.self,
    ]

    /// All options, by group.
    static let options: [FetchOption] = groups.flatMap { $0.options }

    /// The values of a part after `--next`. The session's options are kept.
    var next: FetchArguments {
        var next = FetchArguments()
        next.session = session
        return next
    }
}

/// One URL of a command line.
struct URLArgument: Hashable, Sendable, ExpressibleByStringLiteral {
    var text: String
    /// Whether the URL is a line of `--url @FILE`. It then has no patterns, and its body goes to a file as with `-O`.
    var isFromFile = false

    init(_ text: String, isFromFile: Bool = false) {
        self.text = text
        self.isFromFile = isFromFile
    }

    init(stringLiteral text: String) { self.init(text) }
}
