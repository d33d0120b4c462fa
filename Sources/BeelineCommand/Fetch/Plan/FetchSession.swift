// SPDX-License-Identifier: Apache-2.0

/// All parts of a command line of `fetch`, divided by `--next`, and the settings that apply to all of them.
struct FetchSession: Sendable {
    /// The plans of the parts, in order.
    let parts: [FetchPlan]
    /// The options for all parts.
    let settings: SessionArguments
    /// `--rate`: the minimum time between the starts of two transfers.
    let interval: Duration?

    /// Validates the input and makes the plans.
    ///
    /// - Throws: ``CommandFailure`` for invalid input.
    init(_ parts: [FetchArguments], defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        self.parts = try parts.map { part throws(CommandFailure) in
            try FetchPlan(part, defaults: defaults, files: files)
        }
        let session = parts.last?.session ?? SessionArguments()
        settings = session
        let time = try session.rate.map { text throws(CommandFailure) in try Duration(rate: text) }
        // As in curl, --rate does not affect transfers that run at the same time.
        interval = session.isParallel ? nil : time
    }

    /// Whether no transfer of the parts that share a client can ask an upstream.
    func needsNoNames(_ key: FetchPlan.ClientKey) -> Bool {
        parts.allSatisfy { $0.clientKey != key || $0.needsNoNames }
    }
}
