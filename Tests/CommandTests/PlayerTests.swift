// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// A real player at the gateway. Debian's package ffmpeg has it.
    @Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/ffprobe"), "ffprobe is not installed"))
    struct PlayerTests {
        @Test("ffprobe plays a live playlist whose hosts only our upstream knows")
        func live() async throws {
            let media = try Folder()
            let video = [
                "-f", "lavfi", "-i", "testsrc=duration=3:size=64x64:rate=10", "-c:v", "mpeg2video", "-g", "10",
            ]
            let hls = ["-f", "hls", "-hls_time", "1", "-hls_list_size", "0", "media.m3u8"]
            let made = try await CommandRun.run("/usr/bin/ffmpeg", ["-v", "error"] + video + hls, in: media)
            try #require(made.status == 0, "\(made.errors)")
            let asked = NameCounter()
            let lab = try await CommandLab { request in
                asked.add(request.connection.serverName ?? "-", request.path)
                let file = String(request.path.split(separator: "/").last ?? "")
                switch file {
                case "index.m3u8":
                    return playlist(port: request.connection.local.port, asked: asked.count("index.m3u8"))
                case _ where file.hasSuffix(".ts"):
                    return Reply(fields: [.contentType: "video/mp2t"], body: [.bytes([UInt8](try media.data(file)))])
                default: return .status(.notFound)
                }
            }
            try await expectThirtyFrames(of: "/live/index.m3u8", lab)
            #expect(asked.count("index.m3u8") >= 2, "it was asked again, as of a live programme")
            #expect(asked.names == ["a.test", "b.test"], "segments came from the other host by its name")
            await lab.stop()
        }

        @Test("ffprobe plays a DASH programme whose manifest is on one host and whose segments are on another")
        func dash() async throws {
            let media = try Folder()
            let video = ["-f", "lavfi", "-i", "testsrc=duration=3:size=64x64:rate=10", "-c:v", "mpeg4", "-g", "10"]
            let dash = ["-f", "dash", "-seg_duration", "1", "manifest.mpd"]
            let made = try await CommandRun.run("/usr/bin/ffmpeg", ["-v", "error"] + video + dash, in: media)
            try #require(made.status == 0, "\(made.errors)")
            let asked = NameCounter()
            let lab = try await CommandLab { request in
                asked.add(request.connection.serverName ?? "-", request.path)
                let file = String(request.path.split(separator: "/").last ?? "")
                guard media.has(file) else { return .status(.notFound) }
                guard file == "manifest.mpd" else {
                    return Reply(fields: [.contentType: "video/mp4"], body: [.bytes([UInt8](try media.data(file)))])
                }
                let base = "<BaseURL>https://b.test:\(request.connection.local.port)/media/</BaseURL>"
                let text = try media.text(file).replacingOccurrences(of: "<Period ", with: "\(base)<Period ")
                return Reply(fields: [.contentType: "application/dash+xml"], body: [.text(text)])
            }
            try await expectThirtyFrames(of: "/vod/manifest.mpd", lab)
            #expect(asked.names == ["a.test", "b.test"], "segments came from the other host by its name")
            await lab.stop()
        }

        /// Plays what a.test has at a path, through the gateway of a `beeline proxy`.
        private func expectThirtyFrames(of path: String, _ lab: CommandLab) async throws {
            let arguments =
                ["proxy", "--listen", "127.0.0.1:0", "--gateway", "a.test", "--gateway", "b.test"] + lab.names
            let folder = lab.folder
            let script = ["-c", "exec \"$0\" \"$@\" >seen", CommandRun.beeline]
            let port = lab.site.port
            _ = try await CommandRun.run("/bin/sh", script + arguments, in: folder) { process in
                let seen = { (try? folder.text("seen")) ?? "" }
                while !seen().contains("https://b.test/ is at ") { try await Task.sleep(for: .milliseconds(10)) }
                // The place of a.test, with the site's port behind the name.
                let place = seen().split(separator: "\n")[1].split(separator: " ").last?.dropLast() ?? ""
                let count = ["-v", "error", "-count_frames", "-select_streams", "v", "-show_entries"]
                let show = ["stream=nb_read_frames", "-of", "csv=p=0", "\(place):\(port)\(path)"]
                let probe = try await CommandRun.run("/usr/bin/ffprobe", count + show, in: folder)
                #expect(probe.text.hasPrefix("30"), "\(probe.errors)")
                kill(process, SIGTERM)
            }
        }

        /// One segment more each time, the last time with an end.
        @Sendable
        private func playlist(port: UInt16, asked: Int) -> Reply {
            let count = min(asked + 1, 3)
            var lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:1", "#EXT-X-MEDIA-SEQUENCE:0"]
            for index in 0..<count {
                lines += ["#EXTINF:1.0,", index == 1 ? "media\(index).ts" : "https://b.test:\(port)/media\(index).ts"]
            }
            if count == 3 { lines.append("#EXT-X-ENDLIST") }
            var reply = Reply.text(lines.joined(separator: "\n") + "\n")
            reply.fields[.contentType] = "application/vnd.apple.mpegurl"
            return reply
        }
    }
}

/// The names and files that were asked for.
private final class NameCounter: @unchecked Sendable {
    /// Guards `entries`.
    private let lock = NSLock()
    private var entries: [(name: String, path: String)] = []

    func add(_ name: String, _ path: String) { lock.withLock { entries.append((name, path)) } }

    func count(_ file: String) -> Int { lock.withLock { entries.count { $0.path.hasSuffix(file) } } }

    var names: [String] { lock.withLock { Set(entries.map(\.name)).sorted() } }
}
