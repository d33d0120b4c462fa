// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension CookieStorageMirror {
    /// What a storage holds, by place.
    private struct Contents {
        var cookies: [CookiePlace: Cookie] = [:]
        var objects: [CookiePlace: HTTPCookie] = [:]
        /// Those that Foundation on Linux still sends.
        var expired: [HTTPCookie] = []

        init(_ storage: HTTPCookieStorage, now: CookieTime) {
            for object in storage.cookies ?? [] {
                guard let cookie = Cookie(object), let place = CookiePlace(cookie) else { continue }
                if cookie.isExpired(at: now) {
                    expired.append(object)
                } else {
                    (cookies[place], objects[place]) = (cookie, object)
                }
            }
        }
    }

    /// One round of reading, deciding and writing.
    func round(_ state: inout CookieReconciliation, after event: CookieChanges.Event?) -> Report {
        let (all, events, now) = jar.catchUp(changes)
        for case .change(let change) in [event].compactMap({ $0 }) + events where change.source != source {
            state.note(change)
        }
        var contents = Contents(storage, now: now)
        var cookies: [CookiePlace: Cookie] = [:]
        for cookie in all {
            guard let place = CookiePlace(cookie) else { continue }
            if configuration.shares(cookie) { cookies[place] = cookie } else { contents.cookies[place] = nil }
        }
        let plan = state.plan(jar: cookies, storage: contents.cookies, now: now)
        var report = Report()
        // The jar first: it is quick, and nobody's change is lost in between.
        let outdated = carryOut(plan, inJar: &cookies, now: now, &report)
        carryOut(plan, inStorage: &contents, now: now, &report)
        state.settle(jar: cookies, storage: contents.cookies, outdated: outdated)
        return report
    }

    private func carryOut(
        _ plan: CookieReconciliation.Plan,
        inJar cookies: inout [CookiePlace: Cookie],
        now: CookieTime,
        _ report: inout Report
    ) -> Set<CookiePlace> {
        var outdated: Set<CookiePlace> = []
        let arrivals = plan.intoJar.map { (new: Cookie?.some($0.new), old: $0.old) }
        for (new, old) in arrivals + plan.outOfJar.map({ (new: nil, old: $0) }) {
            guard let place = (new ?? old).flatMap(CookiePlace.init) else { continue }
            switch jar.exchange(old, for: new, isOfThisSession: !plan.isFirst, source: source, now: now) {
            case .done(let present):
                cookies[place] = present
                if new == nil { report.outOfJar += 1 } else { report.intoJar += 1 }
            case .rejected(let reason): report.refused.append(reason)
            case .outdated: outdated.insert(place)
            }
        }
        return outdated
    }

    private func carryOut(
        _ plan: CookieReconciliation.Plan,
        inStorage contents: inout Contents,
        now: CookieTime,
        _ report: inout Report
    ) {
        for object in contents.expired { storage.deleteCookie(object) }
        for place in plan.outOfStorage {
            if let object = contents.objects[place] { storage.deleteCookie(object) }
        }
        for cookie in plan.intoStorage {
            if let object = HTTPCookie(cookie) { storage.setCookie(object) }
        }
        report.outOfStorage = contents.expired.count + plan.outOfStorage.count
        guard !plan.intoStorage.isEmpty || !plan.outOfStorage.isEmpty else { return }
        // What was written counts as the storage has it now: it may have refused or changed it. What was not is as it was
        // read, so that somebody else's change in between is news to the next round.
        let after = Contents(storage, now: now)
        for place in plan.outOfStorage { contents.cookies[place] = after.cookies[place] }
        for place in plan.intoStorage.compactMap(CookiePlace.init) {
            contents.cookies[place] = after.cookies[place]
            if after.cookies[place] != nil { report.intoStorage += 1 }
        }
    }
}
