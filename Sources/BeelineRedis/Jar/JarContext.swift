// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// What the parts of a shared jar have in common.
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
    /// - Parameter winsTies: Whether the server's state wins against an own change with the same version.
    func apply(_ updates: [JarUpdate], winsTies: Bool = false) {
        guard !updates.isEmpty else { return }
        let updates = Dictionary(updates.map { ($0.key, $0) }) { $0.version > $1.version ? $0 : $1 }
        let ordered = updates.values.sorted { $0.version < $1.version }
        jar.merge(
            stored: ordered.compactMap(\.cookie),
            removed: ordered.filter { $0.cookie == nil }.map(\.key.cookie),
            source: recorder.source,
            unless: { [recorder] cookie in
                guard let update = updates[CookieKey(cookie)] else { return true }
                return recorder.keepsOwn(update, winsTies: winsTies)
            }
        )
    }

    /// Reads a record, and reports one that cannot be read.
    func update(field: [UInt8], record: [UInt8]) -> JarUpdate? {
        if let update = coding.update(field: field, record: record) {
            // A change of the future would outrank every change until then, by each process that has seen it.
            let limit = clock().microseconds + JarUpdate.maxLead
            if update.version <= limit { return update }
        }
        progress.update { $0.unreadable += 1 }
        report(
            configuration.key == nil
                ? "the jar \(configuration.name) has cookies that cannot be read; they may be encrypted: name the key file"
                : "the jar \(configuration.name) has cookies that its key does not decrypt; they are left alone"
        )
        return nil
    }

    /// Reports a problem once.
    func report(_ problem: String) {
        if progress.isNew(problem) { configuration.onProblem?(problem) }
    }

    /// Records that the server cannot be used, and reports the reason once.
    func fail(_ fault: RedisFault) {
        guard !progress.values.isClosed else { return }
        progress.update { $0.failure = fault.reason }
        if progress.isNew(fault.reason) { configuration.redis.onUnavailable?(fault.reason) }
    }
}
#endif
