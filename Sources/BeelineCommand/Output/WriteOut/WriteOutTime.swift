// SPDX-License-Identifier: Apache-2.0

import LibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The text of `%time{format}` in `-w`: strftime(3) for UTC, with `%f` for microseconds.
enum WriteOutTime {
    /// The maximum size of a formatted time, in bytes.
    static let limit = 256

    static func now(_ format: String) -> String {
        // Not clock_gettime, because the module that declares the fields of timespec differs from build to build (see
        // `FileKind`).
        let time = Date().timeIntervalSince1970
        let seconds = time.rounded(.down)
        return text(format, seconds: Int(seconds), microseconds: Int((time - seconds) * 1_000_000))
    }

    /// Formats a time; empty if the text is longer than ``limit``.
    ///
    /// - Parameter seconds: seconds since 1970.
    static func text(_ format: String, seconds: Int, microseconds: Int) -> String {
        var expanded = ""
        var rest = format[...]
        while let character = rest.popFirst() {
            guard character == "%", let next = rest.popFirst() else {
                expanded.append(character)
                continue
            }
            switch next {
            // In strftime, these differ between C libraries or mean local time.
            case "f": expanded += "\(microseconds)".leftPadded(to: 6)
            case "s": expanded += "\(seconds)"
            case "Z": expanded += "UTC"
            case "z": expanded += "+0000"
            default: expanded += "%\(next)"
            }
        }
        var time = time_t(seconds)
        var parts = tm()
        guard !expanded.isEmpty, gmtime_r(&time, &parts) != nil else { return "" }
        return String(unsafeUninitializedCapacity: limit) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress, $0.count, expanded, &parts) }
        }
    }
}
