// SPDX-License-Identifier: Apache-2.0

import LibC
import Names

/// The arguments as the process received them. `CommandLine.arguments` replaces octets that are not UTF-8.
enum RawArguments {
    /// Returns the octets of each argument, without the program's name.
    static func all() -> [[UInt8]] {
        (1..<max(1, Int(CommandLine.argc))).map { index in
            CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
        }
    }

    /// Refuses arguments that are not UTF-8. With replaced octets, other data would be sent and other files written.
    ///
    /// - Throws: ``CommandFailure`` with status `usage`. It does not quote the argument, which may be a secret.
    static func check(_ arguments: [[UInt8]], of subcommand: Subcommand) throws(CommandFailure) {
        guard let index = arguments.firstIndex(where: { String(validUTF8: $0) == nil }) else { return }
        let hint = if case .fetch = subcommand { ", or send other data with --data-binary @FILE" } else { "" }
        throw CommandFailure(.usage, "argument \(index + 1) is not UTF-8: write it in UTF-8\(hint)")
    }
}
