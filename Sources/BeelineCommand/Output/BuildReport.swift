// SPDX-License-Identifier: Apache-2.0

import Beeline
import CBuildInfo

/// The output of `beeline --version -v`: the components of the program.
enum BuildReport {
    /// Whether a command line is `--version` (or `-V`) and `-v`, in any order.
    static func isRequested(by arguments: [String]) -> Bool {
        let (version, verbose) = (["--version", "-V"], ["--verbose", "-v"])
        return arguments.contains(where: version.contains) && arguments.contains(where: verbose.contains)
            && arguments.allSatisfy { version.contains($0) || verbose.contains($0) }
    }

    static var text: String { text(of: String(cString: beeline_build_info())) }

    /// Makes the text: one line for each item `NAME=VERSION` of a release build.
    static func text(of items: String) -> String {
        let heading = ["beeline \(BeelineClient.version)", "traits: \(traits)"]
        guard !items.isEmpty else { return (heading + ["a development build"]).joined(separator: "\n") }
        let lines = items.split(separator: ";").map { $0.split(separator: "=", maxSplits: 1).joined(separator: ": ") }
        return (heading + lines).joined(separator: "\n")
    }

    private static var traits: String {
        var traits: [String] = []
        #if Redis
        traits.append("Redis")
        #endif
        #if Brotli
        traits.append("Brotli")
        #endif
        #if Zstandard
        traits.append("Zstandard")
        #endif
        return traits.isEmpty ? "none" : traits.joined(separator: ", ")
    }
}
