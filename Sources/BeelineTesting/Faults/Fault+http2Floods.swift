// SPDX-License-Identifier: Apache-2.0

extension Fault {
    /// HTTP/2 floods: each frame is valid, but there are too many. Each sends at most 64 MiB.
    package static let http2Floods: [Fault] = [
        flood("h2-settings-flood", "SETTINGS without end") { _ in RawFrame.settings([(3, 100)]).bytes },
        flood("h2-ping-flood", "PING without end") { _ in RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes },
        flood("h2-interim-flood", "responses 103 without end") {
            RawFrame.headers([(":status", "103")], stream: $0).bytes
        },
        flood("h2-empty-data-flood", "empty DATA without end", before: { head($0) }) {
            RawFrame(.data, stream: $0).bytes
        },
        flood("h2-reset-flood", "RST_STREAM without end") {
            RawFrame(.reset, stream: $0, payload: RawFrame.big(2)).bytes
        },
        flood("h2-priority-flood", "PRIORITY without end") {
            RawFrame(.priority, stream: $0 + 2, payload: [0, 0, 0, 0, 16]).bytes
        },
        flood("h2-window-flood", "WINDOW_UPDATE of one byte without end") {
            RawFrame(.windowUpdate, stream: $0, payload: RawFrame.big(1)).bytes
        },
        flood(
            "h2-continuation-flood",
            "one header block without end",
            before: {
                RawFrame(.headers, stream: $0, payload: RawFrame.literal(":status", "200")).bytes
            }
        ) {
            RawFrame(.continuation, stream: $0, payload: RawFrame.literal("x", String(repeating: "y", count: 1000)))
                .bytes
        },
        flood(
            "h2-empty-continuation-flood",
            "empty CONTINUATION without end",
            before: {
                RawFrame(.headers, stream: $0, payload: RawFrame.literal(":status", "200")).bytes
            }
        ) {
            RawFrame(.continuation, stream: $0).bytes
        },
        // Each block references a large entry of the dynamic table some thousand times (RFC 7541 §7.3).
        flood(
            "h2-hpack-bomb",
            "header blocks that decode to a thousand times their size",
            before: {
                // A literal with indexing: adds an entry of 3000 bytes to the table, with index 62.
                let entry = [0x40] + RawFrame.literal("x", String(repeating: "y", count: 3000)).dropFirst()
                return RawFrame(.headers, flags: RawFrame.endHeaders, stream: $0, payload: [0x88] + entry).bytes
            }
        ) {
            let block = [UInt8](repeating: 0x80 | 62, count: 4000)
            return RawFrame(.headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: $0, payload: block).bytes
        },
    ]

    /// Creates a fault that sends the same bytes repeatedly after the first request.
    private static func flood(
        _ id: String,
        _ does: String,
        before: @escaping @Sendable (_ stream: UInt32) -> [UInt8] = { _ in [] },
        frame: @escaping @Sendable (_ stream: UInt32) -> [UInt8]
    ) -> Fault {
        script(id, does, outcome: .limit) { connection in
            try await connection.send(RawFrame(.settings).bytes + acknowledgement)
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            try await connection.send(before(request.stream))
            let frame = frame(request.stream)
            let block = (0..<max(1, 65_536 / frame.count)).flatMap { _ in frame }
            var sent = 0
            while sent < 64 << 20 {
                try await connection.send(block)
                sent += block.count
            }
        }
    }
}
