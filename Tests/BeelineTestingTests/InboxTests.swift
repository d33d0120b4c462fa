// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BeelineTesting

@Suite("What a connection has read and nobody has taken yet")
struct InboxTests {
    /// A reader that looked whether the inbox was full before it took an element slept for ever where the last place was
    /// filled in between: the socket was no longer read, and nobody knew.
    @Test("a socket that was stopped between a reader's look and its taking is read again")
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

    @Test("nobody reads a socket for an inbox that was never full")
    func neverFull() async throws {
        let inbox = Inbox<Int>(capacity: 2)
        inbox.push(1)
        #expect(inbox.admits())
        #expect(try await inbox.next() == 1)
        #expect(!inbox.startsAgain())
    }
}
