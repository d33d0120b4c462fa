// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BeelineTesting

@Suite("Inbox of a connection")
struct InboxTests {
    /// Once, a reader checked whether the inbox was full before it took an element. If the last place was filled in
    /// between, the socket was never read again.
    @Test("a full inbox starts reading again after an element is taken, even if it became full meanwhile")
    func stopBetweenLookAndTaking() async throws {
        let inbox = Inbox<Int>(capacity: 2)
        inbox.push(1)
        #expect(inbox.admits())
        inbox.push(2)
        #expect(!inbox.admits())
        #expect(try await inbox.next() == 1)
        #expect(inbox.startsAgain(), "there is room again")
        #expect(!inbox.startsAgain(), "once")
        #expect(inbox.admits())
    }

    @Test("an inbox that was never full does not ask to start reading again")
    func neverFull() async throws {
        let inbox = Inbox<Int>(capacity: 2)
        inbox.push(1)
        #expect(inbox.admits())
        #expect(try await inbox.next() == 1)
        #expect(!inbox.startsAgain())
    }
}
