// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Queries every upstream for a host and dials every address that they return, as a request would.
struct Examination: Sendable {
    let resolver: Resolver
    private(set) var tls: TLSSettings
    /// The limit for TCP and TLS of one address, and again for its response.
    var timeout: Duration
    /// The time after which a response counts as slow.
    var slowness = Duration.seconds(1)

    /// The maximum number of dialled addresses; the rest are skipped.
    private static let maxPlaces = 64
    /// The number of concurrent dials. More would slow each other down.
    private static let width = 4

    init(resolver: Resolver, tls: TLSSettings, timeout: Duration = .seconds(5)) {
        self.resolver = resolver
        self.tls = tls
        // A full handshake with each address shows its certificate and its real duration.
        self.tls.resumesSessions = false
        self.timeout = timeout
    }

    /// Examines the origin of a URL with requests for that URL.
    func run(_ url: HTTPURL) async -> Diagnosis {
        let origin = url.origin
        var diagnosis = Diagnosis(origin: origin)
        let families = resolver.configuration.families
        var named: [(address: IPAddress, by: [String])] = []
        if let address = origin.host.address {
            named = [(address, ["the URL"])]
        } else {
            diagnosis.answers = await resolver.askAll(origin.host).map {
                Diagnosis.UpstreamAnswer($0, families: families, host: origin.host)
            }
            for answer in diagnosis.answers {
                for address in answer.addresses {
                    if let index = named.firstIndex(where: { $0.address == address }) {
                        named[index].by.append(answer.upstream)
                    } else {
                        named.append((address, [answer.upstream]))
                    }
                }
            }
        }
        let record = await record(of: origin)
        // Load the root certificates first. Otherwise the times of the first dials would include the loading.
        let engine = Engine()
        try? engine.prepare(tls, for: origin)
        let dialling = ContinuousClock.now
        diagnosis.places = await places(named, of: origin, record: record).concurrentMap(width: Self.width) { place in
            await dial(place, url, record: record, beside: engine, since: dialling)
        }
        await engine.shutDown()
        diagnosis.verdict = Verdict(diagnosis, slowness: slowness)
        return diagnosis
    }

    /// The data of an origin's HTTPS records. Endpoints are in the order in which a request dials them.
    private struct Record {
        var endpoints: [Endpoint] = []
        var services: [Endpoint: EndpointService] = [:]
        /// Whether an upstream was asked for the records.
        var isAsked = false
    }

    /// Asks for the HTTPS records of an origin, and waits for them longer than a request would.
    private func record(of origin: Origin) async -> Record {
        let configuration = resolver.configuration
        guard origin.scheme.isSecure, origin.host.address == nil, configuration.usesHTTPSRecords,
            configuration.upstreams.contains(where: { $0 is any RecordUpstream })
        else { return Record() }
        guard let answer = try? await resolver.resolve(origin, fresh: true, waitsForServices: true) else {
            return Record(isAsked: true)
        }
        let services = answer.endpointServices
        return Record(
            endpoints: answer.endpoints.filter { services[$0] != nil },
            services: services,
            isAsked: true
        )
    }

    /// The endpoints to dial: first those of the records, which requests dial first, then the addresses in the
    /// upstreams' answers.
    private func places(
        _ named: [(address: IPAddress, by: [String])],
        of origin: Origin,
        record: Record
    ) -> [Diagnosis.Place] {
        var places = named.map { name in
            Diagnosis.Place(endpoint: Endpoint(name.address, port: origin.port), namedBy: name.by)
        }
        var others: [Diagnosis.Place] = []
        for endpoint in record.endpoints {
            let index = places.firstIndex {
                $0.endpoint == endpoint || resolver.network.reachable($0.endpoint).contains(endpoint)
            }
            if let index {
                places[index].isOfRecord = true
            } else {
                others.append(Diagnosis.Place(endpoint: endpoint, namedBy: ["the HTTPS record"], isOfRecord: true))
            }
        }
        return Array((others + places).prefix(Self.maxPlaces))
    }

    /// Sends a request to this endpoint only and reads its certificate.
    private func dial(
        _ place: Diagnosis.Place,
        _ url: HTTPURL,
        record: Record,
        beside first: Engine,
        since beginning: ContinuousClock.Instant
    ) async -> Diagnosis.Place {
        var place = place
        let clock = ContinuousClock()
        let begin = clock.now
        place.start = begin - beginning
        // A separate engine, so that no pooled connection to another address is used.
        let engine = Engine(beside: first)
        var limits = TimeLimits()
        limits.connect = timeout
        limits.idle = timeout
        limits.total = timeout + timeout
        var list = EndpointList(resolver.network.reachable(place.endpoint))
        for endpoint in list.endpoints {
            list.services[endpoint] = record.services[endpoint] ?? record.services[place.endpoint]
        }
        let publicName = publicName(of: list)
        do throws(DirectHTTPError) {
            let response = try await engine.exchange(
                try PreparedRequest(.head, url, fields: [.accept: "*/*"]),
                from: list,
                tls: tls,
                limits: limits
            )
            place.connect = response.timings.connect
            place.handshake = response.timings.handshake
            place.firstByte = response.timings.firstByte
            let version = response.connection.applicationProtocol
            place.outcome = .serves(status: response.head.status.code, version: version)
            if url.origin.scheme.isSecure { place.ech = finding(response.connection.ech, list: list, record: record) }
        } catch {
            let attempt = error.attempts.first
            place.isClosedInOrder = error.underlyingError == nil
            place.connect = attempt?.connect
            place.handshake = attempt?.handshake
            // The attempt's reason names this endpoint only.
            if case .failed(let code, let reason)? = attempt?.outcome {
                place.outcome = .failed(code, CommandFailure.withOptions(reason))
            } else {
                place.outcome = .failed(error.code, CommandFailure.withOptions(error.message))
            }
            if let publicName, place.connect != nil, case .failed(_, let reason) = place.outcome,
                await serves(url, list, withoutECHBy: engine, limits: limits)
            {
                place.ech = .broken(reason, publicName: publicName)
            }
        }
        place.total = clock.now - begin
        await engine.shutDown()
        if url.origin.scheme.isSecure, place.connect != nil {
            let endpoint = resolver.network.reachable(place.endpoint).first ?? place.endpoint
            place.certificate = await CertificateProbe.certificate(of: endpoint, for: url.origin.host, within: timeout)
        }
        return place
    }

    /// The public name in the ClientHello to the endpoints of a list; nil without ECH.
    private func publicName(of list: EndpointList) -> String? {
        list.endpoints.lazy.compactMap { tls.echList(for: list.services[$0])?.publicName }.first
    }

    /// The finding about a handshake that succeeded.
    private func finding(_ outcome: ECHOutcome, list: EndpointList, record: Record) -> Diagnosis.ECHFinding {
        guard outcome == .notOffered else { return .outcome(outcome) }
        if tls.ech == .off { return .notOffered(.off) }
        if list.endpoints.contains(where: { list.services[$0]?.echConfigList != nil }) {
            return .notOffered(.unusable)
        }
        if record.services.values.contains(where: { $0.echConfigList != nil }) { return .notOffered(.elsewhere) }
        return .notOffered(record.isAsked ? .nonePublished : .notAsked)
    }

    /// Whether the endpoints answer a request without ECH.
    private func serves(
        _ url: HTTPURL,
        _ list: EndpointList,
        withoutECHBy engine: Engine,
        limits: TimeLimits
    ) async -> Bool {
        var tls = tls
        tls.ech = .off
        guard let request = try? PreparedRequest(.head, url, fields: [.accept: "*/*"]) else { return false }
        return (try? await engine.exchange(request, from: list, tls: tls, limits: limits)) != nil
    }
}
