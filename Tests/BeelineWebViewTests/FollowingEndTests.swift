// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@Suite("The end of following a web store")
struct FollowingEndTests: FollowingSuite {
    let jar = CookieJar()
    let standIn = StandInStore()
    let reports = Reports()
    let url: HTTPURL

    init() throws {
        url = try HTTPURL("https://a.test/")
    }

    @Test("after stop() both sides stay unchanged, the observer is gone, and sync() throws an error")
    func stops() async throws {
        let following = follow()
        try await following.sync()
        await following.stop()
        jar.store("a=1", from: url)
        standIn.pageSets("b", "1")
        let error = await #expect(throws: WebViewError.self) { try await following.sync() }
        #expect(error?.code == .stopped)
        #expect(jar.pairs == ["a=1"] && standIn.pairs == ["b=1"])
        #expect(standIn.observerCount == 0)
    }

    @Test("releasing the last reference ends the following and keeps the jar")
    func lastReference() async throws {
        var following: WebCookieFollowing? = follow()
        try await following?.sync()
        following = nil
        try await eventually("the observer's end") { standIn.observerCount == 0 }
        #expect(jar.pairs == [])
    }

    @Test("the following may end while the store notifies its observers")
    func endsDuringNotification() async throws {
        let box = NIOLockedValueBox<WebCookieFollowing?>(follow())
        try await box.withLockedValue { $0 }?.sync()
        standIn.onNotify = {
            // Releases the last reference, and so the observer, during the iteration over the observers.
            let last = box.withLockedValue { box in
                defer { box = nil }
                return box
            }
            _ = consume last
        }
        standIn.pageSets("a", "1")
        try await eventually("the observer's end") { standIn.observerCount == 0 }
        try await standIn.rest()
        #expect(standIn.writes == [])
    }

    @Test("a cancelled sync() ends at once, and other calls continue")
    func cancelledWait() async throws {
        let gated = GatedStore(standIn)
        gated.isShut = true
        let following = gated.follow(jar, configuration: Self.configuration)
        // Two calls wait behind a round that does not end.
        try await gated.blocks()
        let impatient = Task { try await following.sync() }
        async let patient: Void = following.sync()
        try await eventually("two calls") { following.waiting == 2 }
        impatient.cancel()
        let error = await #expect(throws: WebViewError.self) { try await impatient.value }
        #expect(error?.code == .cancelled)
        gated.isShut = false
        try await patient
        await following.stop()
    }
}
