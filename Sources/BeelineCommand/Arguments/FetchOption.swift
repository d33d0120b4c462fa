// SPDX-License-Identifier: Apache-2.0

/// An option of `fetch`: its names, its help and its effect. Each group of options has a table of them.
struct FetchOption: Sendable {
    enum Effect: Sendable {
        /// A flag, which `--no-NAME` turns off.
        case flag(@Sendable (inout FetchArguments, Bool) -> Void)
        /// An option with a value.
        case value(name: String, @Sendable (inout FetchArguments, String) throws(CommandFailure) -> Void)
        /// An option that the parser carries out.
        case directive(Directive)
    }

    enum Directive: Sendable {
        /// `--next`: the options so far belong to the URLs so far.
        case next
        /// `-K`: reads further options from a file.
        case config
        /// `-q`: as the first argument, skips the default file of options.
        case disable
        case help
        case version
    }

    /// The long name, without dashes.
    let name: String
    let letter: Character?
    /// The help in one line; nil hides the option.
    let help: String?
    let effect: Effect
    /// Whether the value is the path of a file, for the shells' completions.
    var isPath = false

    /// The value's name in the help; nil if the option has no value.
    var valueName: String? {
        switch effect {
        case .value(let name, _): name
        case .directive(.config): "file"
        case .flag, .directive: nil
        }
    }

    /// Returns the option with its value completed as a path.
    func path() -> FetchOption {
        var option = self
        option.isPath = true
        return option
    }
}

extension FetchOption {
    /// A flag, which `--no-NAME` turns off.
    static func flag(
        _ name: String,
        _ letter: Character? = nil,
        help: String?,
        set: @escaping @Sendable (inout FetchArguments, Bool) -> Void
    ) -> FetchOption {
        FetchOption(name: name, letter: letter, help: help, effect: .flag(set))
    }

    /// An option with a text.
    static func text(
        _ name: String,
        _ letter: Character? = nil,
        value: String,
        help: String?,
        set: @escaping @Sendable (inout FetchArguments, String) -> Void
    ) -> FetchOption {
        FetchOption(name: name, letter: letter, help: help, effect: .value(name: value) { set(&$0, $1) })
    }

    /// An option with a whole number.
    static func number(
        _ name: String,
        _ letter: Character? = nil,
        value: String = "number",
        help: String?,
        in range: ClosedRange<Int> = 0...Int(Int32.max),
        set: @escaping @Sendable (inout FetchArguments, Int) -> Void
    ) -> FetchOption {
        let effect = Effect.value(name: value) { arguments, text throws(CommandFailure) in
            guard let number = Int(text) else { throw CommandFailure(.usage, "--\(name) \(text): write a number") }
            guard range.contains(number) else {
                let bounds =
                    number > range.lowerBound || range.upperBound < Int(Int32.max)
                    ? "\(range.lowerBound) to \(range.upperBound)" : "\(range.lowerBound) or more"
                throw CommandFailure(.usage, "--\(name) \(number): write \(bounds)")
            }
            set(&arguments, number)
        }
        return FetchOption(name: name, letter: letter, help: help, effect: effect)
    }

    /// An option with a number of seconds, such as `1.5`.
    static func seconds(
        _ name: String,
        _ letter: Character? = nil,
        help: String?,
        set: @escaping @Sendable (inout FetchArguments, Double) -> Void
    ) -> FetchOption {
        let effect = Effect.value(name: "sec") { arguments, text throws(CommandFailure) in
            guard let seconds = Double(text) else {
                throw CommandFailure(.usage, "--\(name) \(text): write a number of seconds")
            }
            set(&arguments, seconds)
        }
        return FetchOption(name: name, letter: letter, help: help, effect: effect)
    }

    /// A flag that has no effect here, accepted for curl's scripts.
    static func ignored(_ name: String, _ letter: Character? = nil) -> FetchOption {
        FetchOption(name: name, letter: letter, help: nil, effect: .flag { _, _ in })
    }

    /// An option with a value that has no effect here, accepted for curl's scripts.
    static func ignored(value name: String) -> FetchOption {
        FetchOption(name: name, letter: nil, help: nil, effect: .value(name: "value") { _, _ in })
    }

    /// An option that the parser carries out.
    static func directive(
        _ name: String,
        _ letter: Character? = nil,
        help: String?,
        does directive: Directive
    ) -> FetchOption {
        FetchOption(name: name, letter: letter, help: help, effect: .directive(directive))
    }
}
