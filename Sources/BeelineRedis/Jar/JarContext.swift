// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// The objects and settings that the parts of a shared jar use.
struct JarContext: Sendable {
    let jar: CookieJar
    let recorder: JarRecorder
    let progress: JarProgress
    let coding: JarCoding
    let keys: JarKeys
    let configuration: RedisJarConfiguration
    let clock: @Sendable () -> CookieTime

    /// Applies states of the server to the jar, except where the jar has a newer one.
    ///
    /// - Parameter winsTies: Whether the server's state wins against a change of this process with the same version.
    func apply(_ updates: [JarUpdate], winsTies: Bool = false) {
        guard !updates.isEmpty else { return }
        let updates = Dictionary(updates.map { ($0.key, $0) }) { $0.version > $1.version ? $0 : $1 }
        let ordered = updates.values.sorted { $0.version < $1.version }
        var taken: [JarUpdate] = []
        let addition = jar.merge(
            stored: ordered.compactMap(\.cookie),
            removed: ordered.filter { $0.cookie == nil }.map(\.key.cookie),
            source: recorder.source,
            unless: { [recorder] cookie in
                guard let update = updates[CookieKey(cookie)] else { return true }
                if recorder.keepsOwn(update, winsTies: winsTies) { return true }
                if update.cookie != nil { taken.append(update) }
                return false
            }
        )
        for (update, outcome) in zip(taken, addition.outcomes) {
            switch outcome {
            // The recorder has noted an eviction.
            case .kept, .replaced, .rejected(.noRoom): break
            case .deleted, .rejected: recorder.mark(update.key, .absent, ifVersion: update.version)
            }
        }
    }

    /// Reads a record, and reports one that cannot be read.
    func update(field: [UInt8], record: [UInt8]) -> JarUpdate? {
        if let update = coding.update(field: field, record: record) {
            // A version in the future would outrank every change until that time, in each process that accepts it.
            let now = clock()
            if update.version <= latestVersion(at: now) { return update }
            progress.update { values in
                values.unreadable += 1
                var future = values.future ?? JarProgress.FutureChanges(version: update.version, clock: now)
                future.version = min(future.version, update.version)
                values.future = future
            }
            report("the jar \(configuration.name) has changes with future times; the clock of a machine is wrong")
            return nil
        }
        progress.update { values in
            values.unreadable += 1
            if configuration.encryptionKey == nil, coding.isEncrypted(record) { values.isEncrypted = true }
        }
        guard !lacksKey else { return nil }
        report(
            configuration.encryptionKey == nil
                ? needsKey
                : "the jar \(configuration.name) has cookies that its key does not decrypt; they are left alone"
        )
        return nil
    }

    /// Whether nothing may be written, because records are encrypted and there is no key.
    var lacksKey: Bool { configuration.refusesEncryption && progress.values.isEncrypted }

    /// The problem to report if records are encrypted and there is no key.
    var needsKey: String {
        "the jar \(configuration.name) has cookies that cannot be read; they may be encrypted: name the key file"
    }

    /// The highest version to accept now.
    var latestVersion: Int64 { latestVersion(at: clock()) }

    private func latestVersion(at now: CookieTime) -> Int64 {
        now.advanced(bySeconds: JarUpdate.maxLead).microseconds
    }

    /// Reports a problem once.
    func report(_ problem: String) {
        if progress.isNew(problem) { configuration.onProblem?(problem) }
    }

    /// Records that the server cannot be used, and reports the reason once.
    ///
    /// - Parameter direction: The direction that counts as failed until it works again. Nil if only the caller is
    ///   affected.
    func fail(_ fault: RedisFault, _ direction: JarProgress.Direction?) {
        guard !progress.values.isClosed else { return }
        if let direction { progress.update { $0.failures[direction] = fault.reason } }
        if progress.isNew(fault.reason) { configuration.redis.onUnavailable?(fault.reason) }
    }
}
#endif
