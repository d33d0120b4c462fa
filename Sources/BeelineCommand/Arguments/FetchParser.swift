// SPDX-License-Identifier: Apache-2.0

import Names

/// Parses the arguments of `fetch` as curl does: options and URLs in any order, letters in clusters with their values
/// attached, `--no-NAME`, `--NAME=VALUE`, unique beginnings of names, `--next`, and files of options.
struct FetchParser {
    /// The result of parsing a command line.
    enum Request: Hashable, Sendable {
        /// The parts of the command line, divided by `--next`.
        case fetch([FetchArguments])
        case help
        case version
    }

    /// The maximum nesting of files of options.
    static let maxFileDepth = 10

    private let files: InputFiles
    private var parts: [FetchArguments] = []
    private var current = FetchArguments()
    /// The request of `--help` or `--version`, after which nothing is read.
    private var request: Request?

    /// Parses the arguments after `fetch`.
    ///
    /// - Parameters:
    ///   - defaultFile: the default file of options; nil, or a file that does not exist, for none.
    ///   - files: reads the files of options.
    /// - Throws: ``CommandFailure`` with status `usage`, or `readFailed` for a file of options that cannot be read.
    static func parse(
        _ arguments: some Sequence<String>,
        defaultFile: String? = nil,
        files: InputFiles = .real
    ) throws(CommandFailure) -> Request {
        var parser = FetchParser(files: files)
        let arguments = Array(arguments)
        let skipsDefault = arguments.first == "--disable" || arguments.first?.hasPrefix("-q") ?? false
        if !skipsDefault, let defaultFile, files.size(defaultFile) != nil {
            try parser.readFile(defaultFile, depth: 1)
        }
        try parser.readArguments(arguments)
        if let request = parser.request { return request }
        return .fetch(try parser.finished())
    }

    private init(files: InputFiles) { self.files = files }

    private func finished() throws(CommandFailure) -> [FetchArguments] {
        // Options after the last `--next` without a URL belong to no transfer. Only options of the session apply.
        var parts = parts
        if parts.isEmpty || !current.urls.isEmpty { parts.append(current) }
        for index in parts.indices { parts[index].session = current.session }
        guard !parts[0].urls.isEmpty else {
            throw CommandFailure(.usage, "there is no URL; try `beeline help fetch`")
        }
        return parts
    }

    // MARK: Arguments

    private mutating func readArguments(_ arguments: [String]) throws(CommandFailure) {
        var rest = arguments[...]
        while request == nil, let argument = rest.popFirst() {
            if argument == "--" {
                for argument in rest { try addURL(argument) }
                return
            } else if argument.hasPrefix("--") {
                try readLong(argument.dropFirst(2), &rest, depth: 0)
            } else if argument.hasPrefix("-"), argument != "-" {
                try readCluster(argument.dropFirst(), &rest, depth: 0)
            } else {
                try addURL(argument)
            }
        }
    }

    /// Reads `NAME`, `no-NAME` or `NAME=VALUE`, without the dashes.
    private mutating func readLong(
        _ text: Substring,
        _ rest: inout ArraySlice<String>,
        depth: Int
    ) throws(CommandFailure) {
        var (name, attached) = (text, Substring?.none)
        if let equals = text.firstIndex(of: "=") {
            (name, attached) = (text[..<equals], text[text.index(after: equals)...])
        }
        let (option, isOn) = try Self.option(named: name)
        guard option.valueName != nil else {
            guard attached == nil else { throw Self.wrong("--\(name) takes no value") }
            return try apply(option, isOn: isOn, value: nil, depth: depth)
        }
        let value = attached.map(String.init) ?? rest.popFirst()
        guard let value else { throw Self.wrong("--\(option.name) needs a value") }
        try apply(option, isOn: true, value: value, depth: depth)
    }

    /// Reads a cluster such as `sSLofile`: flags, then at most one option with a value: the rest of the cluster or the
    /// next argument.
    private mutating func readCluster(
        _ letters: Substring,
        _ rest: inout ArraySlice<String>,
        depth: Int
    ) throws(CommandFailure) {
        var letters = letters
        while request == nil, let letter = letters.popFirst() {
            guard let option = FetchArguments.options.first(where: { $0.letter == letter }) else {
                if LeftOutOptions.contain(letter: letter) { throw Self.leftOut("-\(letter)") }
                throw Self.wrong("-\(letter) is not an option")
            }
            guard option.valueName != nil else {
                try apply(option, isOn: true, value: nil, depth: depth)
                continue
            }
            let value = letters.isEmpty ? rest.popFirst() : String(letters)
            guard let value else { throw Self.wrong("-\(letter) needs a value") }
            return try apply(option, isOn: true, value: value, depth: depth)
        }
    }

    private mutating func apply(_ option: FetchOption, isOn: Bool, value: String?, depth: Int) throws(CommandFailure) {
        switch option.effect {
        case .flag(let set): set(&current, isOn)
        case .value(_, let set):
            try set(&current, value ?? "")
            if option.name == "url" { try expandURLFile() }
        case .directive(.next):
            guard current.urls.isEmpty else {
                parts.append(current)
                current = current.next
                break
            }
            // As in curl, a file may begin with `next`.
            guard depth > 0 else { throw Self.wrong("there is no URL before --next") }
        case .directive(.config): try readFile(value ?? "", depth: depth + 1)
        case .directive(.disable): break
        case .directive(.help): request = .help
        case .directive(.version): request = .version
        }
    }

    /// Finds an option by its name or by an unambiguous beginning of its name. `isOn` is false for `no-NAME`.
    private static func option(named name: Substring) throws(CommandFailure) -> (FetchOption, isOn: Bool) {
        let options = FetchArguments.options
        if let option = options.first(where: { $0.name == name }) { return (option, true) }
        if let positive = name.dropping(prefix: "no-"), let option = options.first(where: { $0.name == positive }) {
            guard case .flag = option.effect else { throw wrong("--\(name): --\(option.name) is not a flag") }
            return (option, false)
        }
        // Before beginnings of names, so that the name of a refused option does not stand for another option.
        if LeftOutOptions.contain(name) { throw leftOut("--\(name)") }
        let matches = options.filter { $0.help != nil && $0.name.hasPrefix(name) }
        guard let option = matches.first, !name.isEmpty else { throw wrong("--\(name) is not an option") }
        guard matches.count == 1 else {
            let names = matches.map { "--\($0.name)" }.joined(separator: ", ")
            throw wrong("--\(name) may be one of \(names)")
        }
        return (option, true)
    }

    private static func wrong(_ what: String) -> CommandFailure {
        CommandFailure(.usage, "\(what); try `beeline help fetch`")
    }

    private static func leftOut(_ option: String) -> CommandFailure {
        CommandFailure(.usage, "\(option): this option of curl is not supported; COMMAND.md says why")
    }

    // MARK: Files

    /// Adds a URL, or the URLs of `@FILE` as in curl.
    private mutating func addURL(_ argument: String) throws(CommandFailure) {
        current.urls.append(URLArgument(argument))
        try expandURLFile()
    }

    /// Replaces `@FILE`, the last URL, with the URLs in the file. Each line is a URL; lines with `#` are comments.
    private mutating func expandURLFile() throws(CommandFailure) {
        guard let last = current.urls.last, last.text.hasPrefix("@"), !last.isFromFile else { return }
        current.urls.removeLast()
        let text = try files.text(String(last.text.dropFirst()), hasComments: true)
        for line in text.fileLines where !line.hasPrefix("#") && !line.trimmingBlanks.isEmpty {
            current.urls.append(URLArgument(String(line.trimmingBlanks), isFromFile: true))
        }
    }

    private mutating func readFile(_ path: String, depth: Int) throws(CommandFailure) {
        guard depth <= Self.maxFileDepth else {
            throw CommandFailure(.usage, "-K \(path): files of options name each other too deeply")
        }
        let bytes = try files.read(path)
        let octets = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for line in OptionFile(parsing: String(decoding: bytes, as: UTF8.self)).lines {
            // Comments may have any octets. In a value, replaced octets would be other data.
            guard String(validUTF8: Array(octets[line.number - 1])) != nil else {
                throw CommandFailure(.usage, "\(path), line \(line.number): the line is not UTF-8")
            }
            let subject = "\(path):\(line.number) Option '\(line.option)' uses argument with"
            if line.value?.first == "'", !line.isQuoted {
                current.session.warn(
                    "\(subject) leading single quote. It is probably a mistake. Consider double quotes."
                )
            }
            if line.isCut {
                current.session.warn(
                    "\(subject) unquoted whitespace. This may cause side-effects. Consider double quotes."
                )
            }
            do throws(CommandFailure) {
                try readLine(line, depth: depth)
            } catch {
                throw CommandFailure(error.status, "\(path), line \(line.number): \(error.message)")
            }
            if request != nil { return }
        }
    }

    private mutating func readLine(_ line: OptionFile.Line, depth: Int) throws(CommandFailure) {
        var rest = (line.value.map { [$0] } ?? [])[...]
        if line.option.hasPrefix("--") {
            try readLong(line.option.dropFirst(2), &rest, depth: depth)
        } else if line.option.hasPrefix("-"), line.option != "-" {
            try readCluster(line.option.dropFirst(), &rest, depth: depth)
        } else {
            try readLong(line.option[...], &rest, depth: depth)
        }
        guard request != nil || rest.isEmpty || rest.first == "" else {
            throw Self.wrong("\(line.option) takes no value")
        }
    }
}
