// SPDX-License-Identifier: Apache-2.0

/// Decides which ECH extension the ClientHellos to one endpoint have (RFC 9849 §6.1). A value type without I/O.
///
/// Each authenticated rejection leads to at most one further connection: once with the server's retry configurations,
/// or without ECH.
struct ECHPlan {
    /// The ECH extension of a ClientHello.
    enum Offer: Equatable {
        case nothing
        case grease
        case list(ECHConfigList)
    }

    /// A rejection by a server whose certificate was verified for the public name.
    struct Rejection: Sendable, Equatable {
        var publicName: String
        /// The server's retry configurations, as an `ECHConfigList`; empty if there are none.
        var retryConfigurations: [UInt8]
    }

    /// The next step after a rejection.
    enum Step: Equatable {
        /// Connect once more, with the new ``offer``.
        case retry
        /// Connect once more, without ECH, and remember that the server has turned it off.
        case turnOff
        case fail(String)
    }

    private(set) var offer: Offer
    /// The list of the settings or of the record; nil if there is none.
    let list: ECHConfigList?
    /// Whether a connection without ECH is not allowed.
    let isRequired: Bool
    private let grease: Offer
    private var hasRetried = false
    private var rejectedName: String?

    /// - Parameters:
    ///   - service: the data of the origin's HTTPS record for the endpoint; nil without one, and for a proxy's endpoint.
    ///   - rejectedName: the public name with which the server recently turned ECH off; not called if ECH is required.
    init(_ settings: TLSSettings, service: EndpointService?, rejectedName: (ECHConfigList) -> String? = { _ in nil }) {
        grease = settings.sendsECHGrease ? .grease : .nothing
        isRequired = settings.requiresECH
        list = settings.echList(for: service)
        self.rejectedName = isRequired ? nil : list.flatMap(rejectedName)
        offer = self.rejectedName == nil ? list.map(Offer.list) ?? grease : grease
    }

    /// Decides the next step after a rejection, and changes the offer.
    mutating func handle(_ rejection: Rejection) -> Step {
        if !ECHConfigList.hasNoKnownVersion(rejection.retryConfigurations) {
            guard let list = try? ECHConfigList(rejection.retryConfigurations) else {
                return .fail("rejected ECH and sent configurations that cannot be used")
            }
            // A server that rejects its own retry configurations is misconfigured, and could do so for ever (§6.1.6).
            if hasRetried { return .fail("rejected ECH twice, with \(rejection.publicName) as its public name") }
            hasRetried = true
            offer = .list(list)
            return .retry
        }
        if isRequired { return .fail("has turned ECH off, with \(rejection.publicName) as its public name") }
        rejectedName = rejection.publicName
        offer = grease
        return .turnOff
    }

    /// The public name that the ClientHello offers; nil without a list.
    var offeredName: String? { if case .list(let list) = offer { list.publicName } else { nil } }

    /// The outcome of a completed handshake.
    func outcome(isAccepted: Bool) -> ECHOutcome {
        if case .list(let list) = offer, isAccepted { return .accepted(publicName: list.publicName) }
        if let rejectedName { return .rejected(publicName: rejectedName) }
        return offer == .grease ? .grease : .notOffered
    }
}
