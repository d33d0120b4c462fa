// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore

/// Makes short commands start and end faster.
enum StartUp {
    /// Ends the process on the current thread. A return to the main thread would start two more threads, and
    /// ArgumentParser would make its help text before it ends the process.
    static func endProcess(_ status: CommandStatus) -> Never { exit(status.rawValue) }

    /// Reduces the process's shared event loops to one, instead of one for each processor. A fetch has few connections,
    /// and starting a loop takes a thread and five system calls. Call it once, before the loops are used.
    static func useOneEventLoop() {
        NIOSingletons.groupLoopCountSuggestion = 1
    }
}
