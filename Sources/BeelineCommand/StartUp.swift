// SPDX-License-Identifier: Apache-2.0

import Beeline
import LibC
import NIOCore

/// Shortens the start of short commands.
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

extension FetchPlan {
    /// Whether no transfer can ask an upstream: all URLs have addresses, no redirect is followed, and no rule of `--connect-to`
    /// leads elsewhere. The standard upstreams are then not created.
    var needsNoNames: Bool { client.ownUpstreams == nil && Self.asksNoNames(client, urls: command.urls, plan: urlPlan) }

    /// Whether all URLs have addresses, no redirect is followed, and no rule of `--connect-to` leads elsewhere.
    static func asksNoNames(_ client: ClientConfiguration, urls: [URLArgument], plan: URLPlan) -> Bool {
        client.redirects == .off && client.connectTo.isEmpty
            && urls.allSatisfy { (try? plan.url($0.text, upload: nil))?.host.address != nil }
    }
}

extension FetchSession {
    /// Whether no transfer of the parts that share a client can ask an upstream.
    func needsNoNames(_ key: FetchPlan.ClientKey) -> Bool {
        parts.allSatisfy { $0.clientKey != key || $0.needsNoNames }
    }
}
