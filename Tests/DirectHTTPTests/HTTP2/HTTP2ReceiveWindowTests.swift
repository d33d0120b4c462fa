// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DirectHTTP

@Suite("What a peer may send on a stream")
struct HTTP2ReceiveWindowTests {
    @Test("half a window is taken before more is allowed")
    func half() {
        var window = HTTP2ReceiveWindow(1000)
        #expect(window.take(499) && window.credit(isStalled: false) == nil)
        #expect(window.take(1) && window.credit(isStalled: false) == 1500)
        #expect(window.left == 2000)
    }

    @Test("more than was allowed is refused, and changes nothing")
    func exceeded() {
        var window = HTTP2ReceiveWindow(1000)
        #expect(!window.take(1001))
        #expect(window.left == 1000 && window.take(1000) && !window.take(1))
    }

    /// With a window of one size, a download was no faster than that size in a round trip: 5 MB/s at 50 ms.
    @Test("it grows to four times its size while the reader takes all that comes")
    func grows() {
        var window = HTTP2ReceiveWindow(1000)
        var largest = 0
        for _ in 0..<20 {
            largest = max(largest, window.left)
            #expect(window.take(window.left))
            #expect(window.credit(isStalled: false) != nil)
        }
        #expect(largest == 4000)
    }

    @Test("a reader who falls behind has the first size again")
    func shrinks() {
        var window = HTTP2ReceiveWindow(1000)
        for _ in 0..<5 {
            #expect(window.take(window.left))
            _ = window.credit(isStalled: false)
        }
        #expect(window.left == 4000 && window.take(3000))
        #expect(window.credit(isStalled: true) == nil)
        // As much is under way as the first size has: nothing more.
        #expect(window.credit(isStalled: false) == nil)
        #expect(window.take(500) && window.credit(isStalled: false) == 1500)
    }
}
