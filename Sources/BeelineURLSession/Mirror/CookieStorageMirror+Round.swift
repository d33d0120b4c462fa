// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Foundation
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension CookieStorageMirror {
    /// The cookies of a storage, by place.
    private struct Contents {
        var cookies: [CookiePlace: Cookie] = [:]
        var objects: [CookiePlace: HTTPCookie] = [:]
        /// Expired cookies. Foundation on Linux still sends them.
        var expired: [HTTPCookie] = []

        init(_ storage: HTTPCookieStorage, now: CookieTime) {
            for object in storage.cookies ?? [] {
                guard let cookie = Cookie(object) else { continue }
                let place = CookiePlace(cookie)
                if cookie.isExpired(at: now) {
                    expired.append(object)
                } else {
                    (cookies[place], objects[place]) = (cookie, object)
                }
            }
        }
    }

    /// Performs one round: reads both sides, plans the changes and writes them.
    func round(_ state: inout CookieReconciliation) -> Report {
        let (all, news, now) = jar.catchUp(news)
        for change in news { state.note(change) }
        var contents = Contents(storage, now: now)
        var cookies: [CookiePlace: Cookie] = [:]
        for cookie in all where cookie.hasPlaceInFoundation {
            let place = CookiePlace(cookie)
            if configuration.shares(cookie) { cookies[place] = cookie } else { contents.cookies[place] = nil }
        }
        #if canImport(Darwin)
        let plan = state.plan(jar: cookies, store: contents.cookies, now: now)
        #else
        let joined = Set(contents.cookies.keys.map(\.joined))
        let plan = state.plan(jar: cookies, store: contents.cookies, now: now) { joined.contains($0.joined) }
        #endif
        // Writes the jar first: it is fast, and keeps the time short in which another change could be lost.
        let carried = jar.carryOut(plan, in: &cookies, source: source, now: now)
        var report = Report()
        (report.intoJar, report.outOfJar, report.refused) = (carried.added, carried.removed, carried.refused)
        #if canImport(FoundationNetworking)
        departures.withLockedValue { $0.note(contents.cookies, now: now) }
        #endif
        carryOut(plan, inStorage: &contents, now: now, &report)
        #if canImport(FoundationNetworking)
        departures.withLockedValue { $0.note(contents.cookies, now: now) }
        #endif
        state.settle(jar: cookies, store: contents.cookies, outdated: carried.outdated)
        saveRecord(jar: cookies, storage: contents.cookies)
        return report
    }

    /// Records the cookies that both sides have, if they have changed.
    private func saveRecord(jar: [CookiePlace: Cookie], storage: [CookiePlace: Cookie]) {
        guard let record = configuration.record else { return }
        let common = storage.filter { jar[$0.key] != nil && $0.value.expires != nil }
        let keys = Set(common.values.map(MirrorRecord.key))
        recorded.withLockedValue { recorded in
            guard recorded != keys else { return }
            recorded = keys
            record.save(keys)
        }
    }

    private func carryOut(
        _ plan: CookieReconciliation.Plan,
        inStorage contents: inout Contents,
        now: CookieTime,
        _ report: inout Report
    ) {
        for object in contents.expired { storage.deleteCookie(object) }
        for place in plan.outOfStore {
            if let object = contents.objects[place] { storage.deleteCookie(object) }
        }
        for cookie in plan.intoStore {
            if let object = HTTPCookie(cookie) { storage.setCookie(object) }
        }
        report.outOfStorage = contents.expired.count + plan.outOfStore.count
        guard !plan.intoStore.isEmpty || !plan.outOfStore.isEmpty else { return }
        // For written cookies, records the actual state of the storage, which may have rejected or changed them. For all
        // others, keeps the state that was read, so that the next round detects changes by other code.
        let after = Contents(storage, now: now)
        for place in plan.outOfStore { contents.cookies[place] = after.cookies[place] }
        for place in plan.intoStore.map(CookiePlace.init) {
            contents.cookies[place] = after.cookies[place]
            if after.cookies[place] != nil { report.intoStorage += 1 }
        }
    }
}

#if !canImport(Darwin)
extension CookiePlace {
    /// The key of a cookie in Foundation on Linux, which joins the parts without a separator: path `/b` with name `c` and path
    /// `/` with name `bc` have the same key, so the later cookie replaces the other.
    fileprivate var joined: [UInt8] { Array(((isHostOnly ? "" : ".") + domain + path).utf8) + name }
}
#endif
