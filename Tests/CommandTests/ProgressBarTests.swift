// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BeelineCommand

/// The progress bar, colours, and control characters in messages.
struct ProgressBarTests {
    @Test func showsShareFiguresAndTheTimeThatIsLeft() {
        var bar = ProgressBar(name: "f.bin", expected: 4 << 20, now: .zero)
        #expect(
            bar.line(received: 1 << 20, now: .seconds(2), width: 100)
                == "f.bin   25% [##########------------------------------]  1.0 MiB of 4.0 MiB  512.0 KiB/s  0:06 left"
        )
        #expect(bar.line(received: 2 << 20, now: .milliseconds(2050), width: 100) == nil)
        #expect(
            bar.line(received: 4 << 20, now: .seconds(4), width: 100, isLast: true)
                == "f.bin  100% [########################################]  4.0 MiB of 4.0 MiB  1.0 MiB/s  0:04"
        )
    }

    @Test func countsWhatWasThereBefore() {
        var bar = ProgressBar(name: "f", offset: 50, expected: 50, now: .zero)
        #expect(bar.line(received: 0, now: .zero, width: 80)?.contains(" 50% ") == true)
    }

    @Test func aLengthThatNoNumberHoldsIsNoLength() {
        var bar = ProgressBar(name: "f", offset: 10, expected: .max, now: .zero)
        #expect(bar.line(received: 2038, now: .seconds(1), width: 80) == "f  2.0 KiB  2.0 KiB/s")
    }

    @Test func withoutALengthThereIsNoShare() {
        var bar = ProgressBar(name: "f", expected: nil, now: .zero)
        #expect(bar.line(received: 2048, now: .seconds(1), width: 80) == "f  2.0 KiB  2.0 KiB/s")
    }

    @Test(arguments: [1, 5, 10, 20, 40, 60, 80, 200])
    func staysOnItsLine(_ width: Int) {
        var bar = ProgressBar(name: "a-rather-long-name-of-a-file.tar.gz", expected: 1 << 40, now: .zero)
        let line = bar.line(received: 1 << 35, now: .seconds(10), width: width)
        #expect((line ?? "").count < max(2, width) && line != nil)
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_048_575, "1.0 MiB"),
            (5e15, "4.4 PiB"),
        ] as [(Double, String)]
    )
    func writesBytes(_ count: Double, _ text: String) {
        #expect(ProgressBar.bytes(count) == text)
    }

    @Test(
        arguments: [
            (0, "0:00"), (7.4, "0:07"), (754, "12:34"), (3723, "1:02:03"), (.infinity, "--:--"),
        ] as [(Double, String)]
    )
    func writesTimes(_ seconds: Double, _ text: String) {
        #expect(ProgressBar.time(seconds) == text)
    }

    @Test func numbersBeyondEveryBoundSaturate() {
        var bar = ProgressBar(name: "f", offset: .max, expected: 0, now: .zero)
        #expect(bar.line(received: .max, now: .nanoseconds(1), width: 80) != nil)
        #expect(bar.line(received: 10, now: .seconds(1), width: 80, isLast: true) != nil)
        #expect(ProgressBar.bytes(.infinity).hasSuffix(" PiB") && ProgressBar.bytes(1e300).hasSuffix(" PiB"))
        #expect(Int64(clamping: .infinity) == .max && Int64(clamping: -1e300) == .min && Int64(clamping: .nan) == 0)
        #expect(Int64(clamping: 1.5) == 2 && Duration.seconds(Int64.max).wholeSeconds == .max)
    }

    @Test func coloursAreForTerminalsThatHaveThem() {
        let terminal = { (isTerminal: Bool, environment: [String: String]) in
            Terminal(descriptor: 2, isTerminal: isTerminal, environment: environment)
        }
        #expect(terminal(true, ["TERM": "xterm"]).red("x") == "\u{1b}[31mx\u{1b}[0m")
        #expect(terminal(true, ["TERM": "xterm", "NO_COLOR": "1"]).red("x") == "x")
        #expect(terminal(true, ["TERM": "dumb"]).red("x") == "x")
        #expect(terminal(false, ["TERM": "xterm"]).red("x") == "x")
    }

    @Test func noMessageBreaksItsLine() {
        let failure = CommandFailure(.weird, "a\r\nb\u{1b}[31mc\0d")
        #expect(failure.description == "(8) a  b [31mc d")
    }
}

extension CommandStatus {
    fileprivate static let weird = CommandStatus.malformedResponse
}
