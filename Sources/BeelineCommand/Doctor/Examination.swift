// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Asks everybody for a name and dials every address that anybody names, as a request would.
struct Examination: Sendable {
    let resolver: Resolver
    private(set) var tls: TLSSettings
    /// How long TCP and TLS of one address may take, and then its response.
    var patience: Duration
    /// A response that begins later is a finding.
    var slowness = Duration.seconds(1)
    /// Addresses that are dialled; more are left out.
    var maxPlaces = 64

    /// Addresses that are dialled at the same time: more would make each other look slow.
    private static let width = 4

    init(resolver: Resolver, tls: TLSSettings, patience: Duration = .seconds(5)) {
        self.resolver = resolver
        self.tls = tls
        // Each address is to prove by itself whose it is, and is timed as it does.
        self.tls.resumesSessions = false
        self.patience = patience
    }

    /// Examines the origin of a URL, by requests for that URL.
    func run(_ url: HTTPURL) async -> Diagnosis {
        let origin = url.origin
        let clock = ContinuousClock()
        let begin = clock.now
        var diagnosis = Diagnosis(origin: origin)
        let families = resolver.configuration.families
        var named: [(address: IPAddress, by: [String])] = []
        if let address = origin.host.address {
            named = [(address, ["the URL"])]
        } else {
            diagnosis.opinions = await resolver.askAll(origin.host).map {
                Diagnosis.Opinion($0, families: families, host: origin.host)
            }
            for opinion in diagnosis.opinions {
                for address in opinion.addresses {
                    if let index = named.firstIndex(where: { $0.address == address }) {
                        named[index].by.append(opinion.upstream)
                    } else {
                        named.append((address, [opinion.upstream]))
                    }
                }
            }
        }
        diagnosis.asking = clock.now - begin
        // A request of a program that runs does not wait for the root certificates: no address shall look slow by them.
        let engine = Engine()
        try? engine.prepare(tls, for: origin)
        let dialling = clock.now
        let places = named.prefix(maxPlaces).map { name in
            Diagnosis.Place(endpoint: Endpoint(name.address, port: origin.port), saidBy: name.by)
        }
        diagnosis.places = await withTaskGroup(of: (Int, Diagnosis.Place).self) { group in
            var done = places
            for (index, place) in places.enumerated() {
                if index >= Self.width, let (index, place) = await group.next() { done[index] = place }
                group.addTask { (index, await dial(place, url, beside: engine, since: dialling)) }
            }
            for await (index, place) in group { done[index] = place }
            return done
        }
        await engine.shutDown()
        diagnosis.verdict = Verdict(diagnosis, slowness: slowness)
        return diagnosis
    }

    /// Sends a request to one endpoint and to no other, and looks at the certificate.
    private func dial(
        _ place: Diagnosis.Place,
        _ url: HTTPURL,
        beside first: Engine,
        since beginning: ContinuousClock.Instant
    ) async -> Diagnosis.Place {
        var place = place
        let clock = ContinuousClock()
        let begin = clock.now
        place.start = begin - beginning
        // An engine of its own, so that no connection to another address is used.
        let engine = Engine(beside: first)
        var limits = TimeLimits()
        limits.connect = patience
        limits.idle = patience
        limits.whole = patience + patience
        do throws(DirectHTTPError) {
            let response = try await engine.exchange(
                try PreparedRequest(.head, url, fields: [.accept: "*/*"]),
                from: EndpointList(resolver.network.reachable(place.endpoint)),
                tls: tls,
                limits: limits
            )
            place.connect = response.timings.connect
            place.handshake = response.timings.handshake
            place.firstByte = response.timings.firstByte
            let version = response.connection.applicationProtocol
            place.outcome = .serves(status: response.head.status.code, version: version)
        } catch {
            let attempt = error.attempts.first
            place.connect = attempt?.connect
            place.handshake = attempt?.handshake
            // The attempt's own words name no other endpoint.
            if case .failed(let code, let reason)? = attempt?.outcome {
                place.outcome = .failed(code, reason)
            } else {
                place.outcome = .failed(error.code, error.message)
            }
        }
        place.total = clock.now - begin
        await engine.shutDown()
        if url.origin.scheme.isSecure, place.connect != nil {
            let endpoint = resolver.network.reachable(place.endpoint).first ?? place.endpoint
            place.certificate = await CertificateLook.look(at: endpoint, for: url.origin.host, within: patience)
        }
        return place
    }
}
