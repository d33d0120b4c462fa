// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import CookieJar
import Testing

@testable import BeelineStore

@Suite("Write schedule")
struct WriterTests {
    private static var configuration: CookieDatabaseConfiguration {
        var configuration = CookieDatabaseConfiguration()
        configuration.writeDelay = .seconds(2)
        configuration.writeBatchCount = 10
        configuration.refreshInterval = .seconds(5)
        configuration.accessInterval = .seconds(60)
        return configuration
    }

    @Test("a batch is written a delay after its first change, and a full batch at once")
    func delay() {
        var schedule = WriteSchedule(Self.configuration)
        #expect(schedule.next(pending: 0, now: .zero) == .wait(until: .seconds(5)))
        #expect(schedule.next(pending: 1, now: .seconds(1)) == .wait(until: .seconds(3)))
        #expect(schedule.next(pending: 9, now: .seconds(2)) == .wait(until: .seconds(3)))
        #expect(schedule.next(pending: 9, now: .seconds(3)) == .write(withAccess: false))
        schedule.did(.write(withAccess: false), succeeded: true, now: .seconds(3))
        #expect(schedule.next(pending: 0, now: .seconds(3)) == .wait(until: .seconds(8)))
        #expect(schedule.next(pending: 10, now: .seconds(4)) == .write(withAccess: false))
    }

    @Test("the file is checked at intervals, and times of last access are written at longer intervals")
    func intervals() {
        var schedule = WriteSchedule(Self.configuration)
        #expect(schedule.next(pending: 0, now: .seconds(5)) == .look)
        schedule.did(.look, succeeded: true, now: .seconds(5))
        #expect(schedule.next(pending: 0, now: .seconds(6)) == .wait(until: .seconds(10)))
        #expect(schedule.next(pending: 0, now: .seconds(60)) == .write(withAccess: true))
        schedule.did(.write(withAccess: true), succeeded: true, now: .seconds(60))
        #expect(schedule.next(pending: 0, now: .seconds(60)) == .wait(until: .seconds(65)))
    }

    @Test("a failed write is retried after growing pauses of up to a minute")
    func retries() {
        var schedule = WriteSchedule(Self.configuration)
        var now = Duration.seconds(2)
        var pauses: [Duration] = []
        _ = schedule.next(pending: 1, now: .zero)
        for _ in 0..<7 {
            #expect(schedule.next(pending: 50, now: now) != .wait(until: .zero))
            schedule.did(.write(withAccess: false), succeeded: false, now: now)
            guard case .wait(let until) = schedule.next(pending: 50, now: now) else { Issue.record("no pause"); return }
            pauses.append(until - now)
            now = until
        }
        #expect(pauses == [4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    @Test("a change is written when its delay is over on the writer's clock")
    func writesBehind() async throws {
        let folder = try Folder()
        let timer = ManualClock()
        let store = try await CookieDatabase.open(
            folder.file(),
            configuration: Self.configuration,
            clock: { noon },
            timer: timer
        )
        let reader = try await CookieDatabase.open(folder)
        try await timer.sleepers(atLeast: 1)
        store.jar.put("a", "1")
        // The sleep is shortened to the end of the delay.
        try await eventually("the shorter sleep", within: .seconds(10)) {
            timer.nextDeadline?.sinceStart == .seconds(2)
        }
        try await reader.refresh()
        #expect(try reader.header == nil)
        timer.advance(by: .seconds(2))
        try await eventually("the batch") {
            try await reader.refresh()
            return try reader.header != nil
        }
        #expect(store.lastFailure == nil)
        try await reader.close()
        try await store.close()
        #expect(timer.sleeperCount == 0)
    }

    @Test("many changes of one cookie are one row of the batch, in the place of the first change")
    func coalescing() {
        var pending = PendingChanges(capacity: 100)
        let cookie = { (name: String, value: Int) in Cookie(name, String(value), domain: "example.com") }
        for value in 0..<1000 {
            let change = CookieChange(
                kind: value == 0 ? .added : .replaced,
                cookie: cookie("a", value),
                time: noon,
                source: nil
            )
            pending.note(change, at: noon)
            if value == 0 {
                pending.note(CookieChange(kind: .added, cookie: cookie("b", 0), time: noon, source: nil), at: noon)
            }
        }
        guard case .changes(let entries) = pending.take() else { Issue.record("overrun"); return }
        #expect(entries.map(\.cookie) == [cookie("a", 999), cookie("b", 0)])
        #expect(entries[0].updated > entries[1].updated)
        #expect(pending.count == 0)
    }

    @Test("changes made since take precedence over a batch that is put back")
    func puttingBack() {
        var pending = PendingChanges(capacity: 100)
        let cookie = { (name: String, value: Int) in Cookie(name, String(value), domain: "example.com") }
        let note = { (kind: CookieChange.Kind, cookie: Cookie) in
            _ = pending.note(CookieChange(kind: kind, cookie: cookie, time: noon, source: nil), at: noon)
        }
        note(.added, cookie("a", 1))
        note(.added, cookie("b", 1))
        let batch = pending.take()
        note(.removed(.explicit), cookie("a", 1))
        pending.putBack(batch)
        guard case .changes(let entries) = pending.take() else { Issue.record("overrun"); return }
        #expect(entries.map(\.cookie.name) == ["b", "a"])
        #expect(entries.map(\.kind) == [.stored, .removed])
    }
}
