// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

/// The decisions and sources of slow transfers.
struct PaceTests {
    @Test("after a stall, --limit-rate lets a transfer catch up three seconds, not the whole stall")
    func aStallGivesNoCredit() {
        let start = ContinuousClock.now
        var window = Pace.Window(rate: 1_000, begin: start)
        #expect(window.wait(after: 1_000, now: start) == .seconds(1))
        #expect(window.wait(after: 1_000, now: start + .seconds(1)) == .zero)
        // Within three seconds, the lost time is made up for.
        #expect(window.wait(after: 2_000, now: start + .seconds(4)) == .seconds(-2))
        // After ten minutes, only three seconds' bytes follow at once.
        let late = start + .seconds(600)
        #expect(window.wait(after: 2_000, now: late) < .zero)
        #expect(window.wait(after: 5_000, now: late) == .zero)
        #expect(window.wait(after: 6_000, now: late) == .seconds(1))
    }

    @Test("a file that grows is sent up to the length that was announced")
    func aTailHasItsLength() async throws {
        let folder = try Folder()
        let path = try folder.write("0123456789", to: "file")
        let site = try await LoopbackOrigin.start { .text($0.text) }
        var configuration = ClientConfiguration()
        (configuration.upstreams, configuration.proxies) = ([], .none)
        let client = try BeelineClient(configuration)
        let body = BodyPlan.fileTail(path, from: 2, length: 3).requestBody(UploadMeter(), countsMemory: false)
        let response = try await client.post("http://127.0.0.1:\(site.port)/up", body: body)
        #expect(response.status == .ok && site.requests.last?.text == "234")
        await client.shutDown()
        await site.stop()
    }

    #if os(Linux)
    @Test("a source that opens but cannot be read does not leave its descriptor open")
    func anUnreadableSourceIsClosed() async throws {
        let folder = try Folder()
        await #expect(throws: FileDescriptor.Failure.self) {
            for try await _ in DescriptorBody(.path(folder.path)) {}
        }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(!open.contains { $0.hasSuffix(String(folder.path.suffix(36))) })
    }
    #endif
}

extension ProcessTests {
    /// Transfers that are slow on purpose, and readers that stop.
    struct SlowTransferTests {
        @Test(
            "-Y counts the bytes of an upload, whatever its source is, and those of each second with --limit-rate",
            arguments: [["-d", "@file"], ["-T", "file"]]
        )
        func aSteadyUploadIsNotSlow(_ source: [String]) async throws {
            let lab = try await CommandLab { .text("\($0.bodySize)") }
            // More than the 16 KiB of a piece without a limit.
            try lab.folder.write(String(repeating: "x", count: 20_000), to: "file")
            let line = ["-s", "-S", "--limit-rate", "6000", "-Y", "100", "-y", "1"] + source + [lab.plainURL("/up")]
            let run = try await lab.beeline(line)
            #expect(run.status == 0 && run.text == "20000", "\(run.errors)")
            await lab.stop()
        }

        @Test("-m ends the decoding of a short body that expands to many gigabytes")
        func aBombHasALimit() async throws {
            // 64 MiB of zeros, compressed twice by gzip. Each copy is a further member.
            let text = """
                H4sIAAAAAAACA+3cr05CcRTA8YtcNyYbYiAZ5BGIFAYazAbNjgcgkmVzJgsvQWZjc7PSeAO02f0TnDM5L9z7GL/z+aSTTzw7+549NrLSQf1jXavth9n8
                f/nVOMoAAACAxM1e7+vlMSDrFtvLqxsAAAAgdePjVl4dBf5uT8+tAwAAAJL3MOi3qw+B77tJbh0AAACQvM7v26i6BWyKp5Nr+wAAAIDkvQgGAAAAQCiC
                AQAAABCLYAAAAADEIhgAAAAAwQgGAAAAQCyCAQAAABCLYAAAAADEIhgAAAAAwQgGAAAAQCyCAQAAABDLYtDvlo8B7Z9iOrw4zAAAAIjkufnZe1/th3wH
                PEzs+uL+AAA=
                """
            let member = Array(try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
            let lab = try await CommandLab { _ in
                .bytes(Array(repeatElement(member, count: 200).joined())).adding(.contentEncoding, "gzip, gzip")
            }
            let line = ["-s", "-S", "--compressed", "-m", "0.5", "-o", "/dev/null", lab.plainURL()]
            let run = try await lab.beeline(line)
            #expect(run.status == 28 && run.errors.contains("in time"), "\(run.errors)")
            await lab.stop()
        }

        @Test("a signal saves the cookies even if the reader of standard output has stopped")
        func aStoppedReaderLosesNoCookies() async throws {
            let lab = try await CommandLab { _ in
                .text(String(repeating: "x", count: 1 << 20)).adding(.setCookie, "a=b; Max-Age=100")
            }
            let pipe = "\(lab.folder.path)/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            let script = "exec \"$0\" -s -w '%{http_code}' --jar jar.txt -c cookies.txt \"$1\" >pipe"
            let arguments = ["-c", script, CommandRun.beeline, lab.plainURL()]
            let run = try await CommandRun.run("/bin/sh", arguments, in: lab.folder) { process in
                var waiting: CInt = 0
                while waiting < 49_152 {
                    try Task.checkCancellation()
                    await Task.yield()
                    _ = ioctl(reader, UInt(FIONREAD), &waiting)
                }
                kill(process, SIGINT)
            }
            #expect(run.status == 128 + SIGINT, "\(run.errors)")
            #expect(try lab.folder.text("jar.txt").contains("a\tb") && lab.folder.text("cookies.txt").contains("a\tb"))
            await lab.stop()
        }

        @Test("--retry-all-errors does not repeat a transfer whose reader has left")
        func aReaderThatLeavesGetsNoRetry() async throws {
            let lab = try await CommandLab()
            let options = "-s --retry 3 --retry-all-errors --retry-delay 0.01"
            let script = "\(CommandRun.beeline) \(options) \(lab.plainURL("/bytes/5000000")) | head -c 1"
            let run = try await CommandRun.run(
                "/bin/bash",
                ["-c", script + "; echo ${PIPESTATUS[0]}"],
                in: lab.folder
            )
            #expect(run.text == "\0" + "23\n" && run.errors == "", "\(run.errors)")
            #expect(lab.plain.requests.count == 1)
            await lab.stop()
        }

        @Test("--remove-on-error empties the file of a link, such as /dev/stdout, and keeps the link")
        func aLinkIsNotRemoved() async throws {
            let lab = try await CommandLab { _ in
                Reply(fields: [.contentLength: "10"], body: ["half"], ending: .hangUp)
            }
            try lab.folder.write("", to: "file")
            let link = "\(lab.folder.path)/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file")
            let line = ["-s", "--remove-on-error", "-o"]
            #expect(try await lab.beeline(line + ["link", lab.plainURL()]).status == 18)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "file")
            #expect(try lab.folder.text("file") == "")
            #expect(try await lab.beeline(line + ["plain", lab.plainURL()]).status == 18)
            #expect(!lab.folder.has("plain"))
            await lab.stop()
        }
    }
}
