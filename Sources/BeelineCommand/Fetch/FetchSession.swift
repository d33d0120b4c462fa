// SPDX-License-Identifier: Apache-2.0

/// All parts of a command line of `fetch`, divided by `--next`.
struct FetchSession: Sendable {
    /// The plans of the parts, in order.
    let parts: [FetchPlan]

    /// Validates the input and makes the plans.
    ///
    /// - Throws: ``CommandFailure`` for invalid input.
    init(_ parts: [FetchArguments], defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        self.parts = try parts.map { part throws(CommandFailure) in
            try FetchPlan(part, defaults: defaults, files: files)
        }
    }
}
