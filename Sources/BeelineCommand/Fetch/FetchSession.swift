// SPDX-License-Identifier: Apache-2.0

/// All parts of a command line of `fetch`, divided by `--next`, and the settings that apply to all of them.
struct FetchSession: Sendable {
    /// The settings of a command line.
    struct Settings: Hashable, Sendable {
        var isSilent = false
        /// Whether errors are printed; false with `-s` without `-S`.
        var showsErrors = true
        var isVerbose = false
        var reports = false
        /// `-#`.
        var showsBar = false
        /// `--fail-early`.
        var failsEarly = false
        /// `-Z`: the maximum number of transfers at the same time; nil runs them in sequence.
        var parallelism: Int?
        /// `--rate`: the minimum time between the starts of two transfers.
        var interval: Duration?
        /// Warnings about options and their files. As in curl, a later `-s` does not hide them.
        var warnings: [String] = []
    }

    /// The plans of the parts, in order.
    let parts: [FetchPlan]
    let settings: Settings

    /// Validates the input and makes the plans.
    ///
    /// - Throws: ``CommandFailure`` for invalid input.
    init(_ parts: [FetchArguments], defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        self.parts = try parts.map { part throws(CommandFailure) in
            try FetchPlan(part, defaults: defaults, files: files)
        }
        settings = try Settings(parts.last?.session ?? SessionArguments())
    }

    /// Whether no transfer of the parts that share a client can ask an upstream.
    func needsNoNames(_ key: FetchPlan.ClientKey) -> Bool {
        parts.allSatisfy { $0.clientKey != key || $0.needsNoNames }
    }
}

extension FetchSession.Settings {
    init(_ arguments: SessionArguments) throws(CommandFailure) {
        isSilent = arguments.isSilent
        showsErrors = !arguments.isSilent || arguments.showsErrors
        isVerbose = arguments.isVerbose
        reports = arguments.report
        showsBar = arguments.showsBar
        failsEarly = arguments.failsEarly
        parallelism = arguments.isParallel ? arguments.parallelMax : nil
        // As in curl, --rate does not affect transfers that run at the same time.
        if let rate = arguments.rate {
            let time = try Duration(rate: rate)
            interval = parallelism == nil ? time : nil
        }
        warnings = arguments.warnings
    }
}
