// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// A real player uses the gateway: ffprobe of Debian's package ffmpeg.
    @Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/ffprobe"), "ffprobe is not installed"))
    struct PlayerTests {
        @Test("ffprobe plays a live playlist through the gateway, from hosts that only the upstream can resolve")
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
            #expect(asked.count("index.m3u8") >= 2, "the playlist was requested again, as for a live stream")
            #expect(asked.names == ["a.test", "b.test"], "segments came from the other host by its name")
            await lab.stop()
        }

        @Test("ffprobe plays a DASH programme through the gateway, with manifest and segments on different hosts")
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

        /// Plays a path of a.test through the gateway of a `beeline proxy`, and expects 30 frames.
        private func expectThirtyFrames(of path: String, _ lab: CommandLab) async throws {
            let arguments =
                ["proxy", "--listen", "127.0.0.1:0", "--gateway", "a.test", "--gateway", "b.test"] + lab.names
            let folder = lab.folder
            let script = ["-c", "exec \"$0\" \"$@\" >seen", CommandRun.beeline]
            let port = lab.site.port
            _ = try await CommandRun.run("/bin/sh", script + arguments, in: folder) { process in
                let seen = { (try? folder.text("seen")) ?? "" }
                try await eventually("the URLs of the gateway") { seen().contains("https://b.test/ is at ") }
                // The gateway's URL for a.test; the site's port is added to the name.
                let place = seen().split(separator: "\n")[1].split(separator: " ").last?.dropLast() ?? ""
                let count = ["-v", "error", "-count_frames", "-select_streams", "v", "-show_entries"]
                let show = ["stream=nb_read_frames", "-of", "csv=p=0", "\(place):\(port)\(path)"]
                let probe = try await CommandRun.run("/usr/bin/ffprobe", count + show, in: folder)
                #expect(probe.text.hasPrefix("30"), "\(probe.errors)")
                kill(process, SIGTERM)
            }
        }

        /// A live playlist that grows by one segment each time and ends with the third.
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

/// Records the host and path of each request.
private final class NameCounter: @unchecked Sendable {
    /// Guards `entries`.
    private let lock = NSLock()
    private var entries: [(name: String, path: String)] = []

    func add(_ name: String, _ path: String) { lock.withLock { entries.append((name, path)) } }

    func count(_ file: String) -> Int { lock.withLock { entries.count { $0.path.hasSuffix(file) } } }

    var names: [String] { lock.withLock { Set(entries.map(\.name)).sorted() } }
}
