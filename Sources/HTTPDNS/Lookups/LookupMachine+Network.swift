// SPDX-License-Identifier: Apache-2.0

import Names

/// Changes of the network and of the switches.
extension LookupMachine {
    // MARK: Network

    /// Uses the answers of another network, separate from those of other networks, and resets all measurements.
    mutating func networkChanged(to network: Network) {
        let inUse = answers.namesInUse()
        if !inUse.isEmpty { unanswered = inUse }
        health.networkChanged()
        silence = ServiceSilence()
        ranking.networkChanged(to: network)
        let forgotten = scopes.enter(network.id)
        answers.use(scope, network: network.id)
        if let forgotten { answers.forget(forgotten) }
        actions.append(.announce(network))
    }

    /// Enters a network that was unknown until now. It keeps the answers so far if no other network has answers: the machine
    /// was in it already.
    mutating func networkFound(_ network: Network) {
        // The program may have set a network meanwhile.
        guard ranking.network == .unknown else { return }
        scopes.nameFirstNetwork(network.id)
        networkChanged(to: network)
    }

    /// The names to ask for again in the present network. Without a network, and after a failure, they wait for the
    /// next network.
    var namesToAskAgain: [Host] { ranking.network == .unknown ? [] : unanswered }

    mutating func nat64Found(_ prefixes: [NAT64Prefix], in network: Network) {
        guard !prefixes.isEmpty, ranking.network == network else { return }
        ranking.network.nat64 = prefixes
        actions.append(.announce(ranking.network))
    }

    // MARK: Switches

    mutating func switched(on isOn: Bool, now: Moment) {
        isEnabled = isOn
        answers.use(scope, network: ranking.network.id)
        leaveUpstreams(now: now)
    }

    mutating func documentReceived(_ document: RemoteDocument, wall: Int64, now: Moment) {
        if remote.received(document, now: wall) { applyRemote(now: now) }
    }

    mutating func documentChecked(wall: Int64, now: Moment) {
        if remote.expire(now: wall) { applyRemote(now: now) }
    }

    private mutating func applyRemote(now: Moment) {
        policy = remote.applied(to: configuration.names)
        answers.use(scope, network: ranking.network.id)
        answers.apply(policy)
        leaveUpstreams(now: now)
    }

    /// Stops asking upstreams for names that must not go to them any more.
    private mutating func leaveUpstreams(now: Moment) {
        endDeniedServices()
        restartDeniedLookups(now: now)
    }
}
