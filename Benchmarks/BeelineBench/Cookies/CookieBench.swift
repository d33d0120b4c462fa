// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import CookieJar
import LibC
import Names

/// `beeline-bench cookies`: fills a jar, looks up, stores, and prints one line of JSON.
struct CookieBench {
    private var lookMilliseconds = 400
    private var fillMilliseconds = 6000
    private var dump: String?
    private let workload: CookieWorkload

    init(_ arguments: [String]) throws {
        var path: String?
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--look-ms": lookMilliseconds = Int(rest.popFirst() ?? "") ?? lookMilliseconds
            case "--fill-ms": fillMilliseconds = Int(rest.popFirst() ?? "") ?? fillMilliseconds
            case "--dump": dump = rest.popFirst()
            default: path = argument
            }
        }
        guard let path else { throw BenchError(message: "name a workload file") }
        workload = try CookieWorkload(path: path)
    }

    /// A jar whose bounds the workloads do not meet, for they have up to 3,000 cookies on one domain, and SameSite=None
    /// without Secure.
    private func makeJar() -> CookieJar {
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = 1_000_000
        configuration.maxCookiesPerDomain = 100_000
        configuration.acceptsInsecureSameSiteNone = true
        return CookieJar(configuration: configuration)
    }

    func run() throws {
        let base = ProcessMemory.kibibytes("VmRSS")
        let jar = makeJar()
        let extra = Duration.milliseconds(lookMilliseconds / 4)
        var (fillDone, fillTime) = store(workload.fill, in: jar, atMost: .milliseconds(fillMilliseconds))
        let filled = ProcessMemory.kibibytes("VmRSS")
        // Small sets again, into fresh jars, to be measurable.
        while fillDone % workload.fill.count == 0, fillTime < extra {
            let (done, time) = store(workload.fill, in: makeJar())
            fillDone += done
            fillTime += time
        }
        try verify(jar, "pre")
        let clock = ContinuousClock()
        var (looked, octets) = (0, 0)
        let start = clock.now
        InPlace.withAll(workload.lookUps) { urls in
            while clock.now - start < .milliseconds(lookMilliseconds) {
                for _ in 0..<16 {
                    octets += urls[looked % urls.count].look(in: jar)
                    looked += 1
                }
            }
        }
        let lookTime = clock.now - start
        var (stored, storeTime) = store(workload.stores, in: jar)
        try verify(jar, "post")
        while !workload.stores.isEmpty, storeTime < extra {
            let (done, time) = store(workload.stores, in: jar)
            stored += done
            storeTime += time
        }
        print(
            """
            {"engine": "beeline", "version": "working copy", "workload": "\(workload.name)", "n": \(workload.fill.count), \
            "fill_ns": \(fillTime.nanoseconds), "fill_done": \(fillDone), \
            "look_ns": \(lookTime.nanoseconds), "look_done": \(looked), "bytes": \(octets), \
            "store_ns": \(storeTime.nanoseconds), "store_done": \(stored), \
            "rss_base_kb": \(base), "rss_fill_kb": \(filled), "rss_peak_kb": \(ProcessMemory.kibibytes("VmHWM"))}
            """
        )
    }

    /// Stores all, or as many as the time allows.
    private func store(
        _ stores: [CookieWorkload.Store],
        in jar: CookieJar,
        atMost limit: Duration? = nil
    ) -> (done: Int, time: Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        var done = 0
        InPlace.withAll(stores) { stores in
            for index in stores.indices {
                stores[index].store(in: jar, workload)
                done += 1
                if let limit, done & 63 == 0, clock.now - start > limit { break }
            }
        }
        return (done, clock.now - start)
    }

    /// Writes the headers of the first lookups to a file, a line each.
    private func verify(_ jar: CookieJar, _ suffix: String) throws {
        guard let dump else { return }
        guard let file = fopen("\(dump).\(suffix)", "w") else { throw BenchError(message: "cannot write \(dump)") }
        defer { fclose(file) }
        for url in workload.lookUps.prefix(workload.verified) {
            fputs((jar.header(for: url) ?? "") + "\n", file)
        }
    }
}

extension InPlace where Value == HTTPURL {
    /// The octets of the header that the URL gets.
    @inline(never)
    borrowing func look(in jar: CookieJar) -> Int { jar.header(for: value)?.utf8.count ?? 0 }
}

extension InPlace where Value == CookieWorkload.Store {
    @inline(never)
    borrowing func store(in jar: CookieJar, _ workload: borrowing CookieWorkload) {
        jar.store(octets: workload.octets(of: value.field), from: value.url)
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
