// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Foundation
import NIOConcurrencyHelpers

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

    /// One round of reading, deciding and writing.
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
        // The jar first: it is quick, and nobody's change is lost in between.
        let carried = jar.carryOut(plan, in: &cookies, source: source, now: now)
        var report = Report()
        (report.intoJar, report.outOfJar, report.refused) = (carried.came, carried.went, carried.refused)
        #if canImport(FoundationNetworking)
        departures.withLockedValue { $0.note(contents.cookies, now: now) }
        #endif
        carryOut(plan, inStorage: &contents, now: now, &report)
        #if canImport(FoundationNetworking)
        departures.withLockedValue { $0.note(contents.cookies, now: now) }
        #endif
        state.settle(jar: cookies, store: contents.cookies, outdated: carried.outdated)
        return report
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
        // What was written counts as the storage has it now: it may have refused or changed it. What was not is as it was
        // read, so that somebody else's change in between is news to the next round.
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
    /// The key under which Foundation on Linux keeps a cookie, the parts joined by nothing: `/b` and `c`, and `/` and `bc`,
    /// are one, so the one that comes last throws the other out.
    fileprivate var joined: [UInt8] { Array(((isHostOnly ? "" : ".") + domain + path).utf8) + name }
}
#endif
