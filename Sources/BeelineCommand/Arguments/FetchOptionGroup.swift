// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A group of options of `fetch` and their values.
///
/// ``FetchParser`` parses command lines with ``options``. ArgumentParser gets the same table as a mirror, and makes the
/// help, the manual pages and the completions from it.
protocol FetchOptionGroup: ParsableArguments, CustomReflectable, Hashable, Sendable {
    static var options: [FetchOption] { get }
}

extension FetchOptionGroup {
    /// ArgumentParser calls this initializer to check that every option has a key. It parses nothing.
    init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: OptionKey.self)
        self.init()
    }

    /// The options as ArgumentParser declares them.
    var customMirror: Mirror {
        let children = Self.options.filter { $0.help != nil }.map { ("_\($0.name)" as String?, value: $0.declaration) }
        return Mirror(self, children: children.map { (label: $0, value: $1) })
    }
}

private struct OptionKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension FetchOption {
    /// The option as a property wrapper of ArgumentParser.
    fileprivate var declaration: Any {
        let names: NameSpecification =
            letter.map { [.customShort($0), .customLong(name)] } ?? [.customLong(name)]
        guard let valueName else { return Flag(wrappedValue: false, name: names, help: ArgumentHelp(help ?? "")) }
        return Option<String?>(
            name: names,
            help: ArgumentHelp(help ?? "", valueName: valueName),
            completion: isPath ? .file() : nil
        )
    }
}
