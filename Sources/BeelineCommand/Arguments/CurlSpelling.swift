// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Rewrites a command line in curl's spelling into an unambiguous one: long names, values behind `=`.
///
/// To curl, `-sSLofile` is `-s -S -L -o file`, `-d -1` sends `-1`, and `-da=b` is `-d a=b`. ArgumentParser splits clusters
/// differently, so it gets `--silent --show-error --location --output=file`.
enum CurlSpelling {
    /// Returns the command line for ArgumentParser, with the subcommand `fetch` if none is named.
    ///
    /// The arguments of other subcommands stay as they are.
    static func canonical(_ arguments: [String], subcommands: Set<String> = Self.subcommands) -> [String] {
        guard let first = arguments.first else { return ["--help"] }
        if first == "-V" { return ["--version"] }
        let isAboutTheCommand =
            ["-h", "--help", "--version", "help"].contains(first)
            || ["--generate-completion-script", "--experimental-"].contains(where: first.hasPrefix)
        if isAboutTheCommand || (subcommands.contains(first) && first != "fetch") { return arguments }
        return ["fetch"] + canonical(options: first == "fetch" ? arguments.dropFirst() : arguments[...])
    }

    private static var subcommands: Set<String> {
        Set(BeelineCommand.configuration.subcommands.compactMap { $0.configuration.commandName })
    }

    private static func canonical(options arguments: ArraySlice<String>) -> [String] {
        var result: [String] = []
        var rest = arguments
        while let argument = rest.popFirst() {
            if argument == "--" {
                return result + [argument] + rest
            } else if argument == "--remote-name" {
                result.append(OutputArguments.remoteNameMark)
            } else if argument.hasPrefix("--") {
                guard CurlOption.longWithValue.contains(argument) else {
                    result.append(argument)
                    continue
                }
                result += spelled(argument, rest.popFirst())
            } else if argument.hasPrefix("-"), argument != "-" {
                result += cluster(argument.dropFirst(), &rest)
            } else {
                result.append(argument)
            }
        }
        return result
    }

    /// Splits a cluster such as `sSLofile`: flags, then at most one option whose value is the rest of the cluster or the next
    /// argument.
    private static func cluster(_ letters: Substring, _ rest: inout ArraySlice<String>) -> [String] {
        var result: [String] = []
        var letters = letters
        while let letter = letters.popFirst() {
            guard let option = CurlOption.byLetter[letter] else {
                result.append("-\(letter)")
                continue
            }
            guard option.takesValue else {
                result.append(option.name == "--remote-name" ? OutputArguments.remoteNameMark : option.name)
                continue
            }
            return result + spelled(option.name, letters.isEmpty ? rest.popFirst() : String(letters))
        }
        return result
    }

    private static func spelled(_ name: String, _ value: String?) -> [String] {
        // ArgumentParser reads `--name=` with an empty value as "the value is the next argument".
        value.map { $0.isEmpty ? [name, $0] : ["\(name)=\($0)"] } ?? [name]
    }
}

/// An option of `fetch`: its long name and whether it takes a value.
struct CurlOption {
    let name: String
    let takesValue: Bool

    static let byLetter: [Character: CurlOption] = {
        let flags: [Character: String] = [
            "G": "get", "I": "head", "L": "location", "N": "no-buffer", "O": "remote-name", "S": "show-error",
            "f": "fail", "h": "help", "i": "include", "k": "insecure", "s": "silent", "v": "verbose", "4": "ipv4",
            "6": "ipv6",
        ]
        let valued: [Character: String] = [
            "A": "user-agent", "C": "continue-at", "D": "dump-header", "F": "form", "H": "header", "T": "upload-file",
            "X": "request", "b": "cookie", "c": "cookie-jar", "d": "data", "e": "referer", "m": "max-time",
            "o": "output", "r": "range", "u": "user", "w": "write-out", "x": "proxy",
        ]
        return flags.mapValues { CurlOption(name: "--\($0)", takesValue: false) }
            .merging(valued.mapValues { CurlOption(name: "--\($0)", takesValue: true) }) { $1 }
    }()

    static let longWithValue: Set<String> = Set(byLetter.values.filter(\.takesValue).map(\.name)).union(
        [
            "cacert", "connect-timeout", "data-binary", "data-raw", "data-urlencode", "dns", "form-string", "hsts",
            "jar",
            "json-data", "max-cookies", "max-redirs", "noproxy", "oauth2-bearer", "resolve", "retry", "retry-delay",
        ].map { "--\($0)" }
    )
}
