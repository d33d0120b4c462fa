// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOCore
import Names

@testable import BeelineProxy
@testable import DirectHTTP
@testable import HTTPWire

extension Fuzzer {
    private static let links = GatewayLinks(hosts: ["live.example", "cdn.example"], token: "T")

    /// Decoders of bytes from a proxy's clients, from origins behind it, and of playlists.
    static let proxy: [Fuzzer] = [
        Fuzzer(
            "proxy-request",
            texts: [
                "GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, x\r\nX: 1\r\n\r\n",
                "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n",
                "POST http://[::1]:8080/ HTTP/1.1\r\nHost: [::1]:8080\r\nTransfer-Encoding: chunked\r\n\r\n",
            ]
        ) { bytes in
            guard let head = read(bytes), case .resource = head.target else { return }
            let text = head.forwarded(toProxy: true, addsVia: false)
            guard let again = read(Array(text.readableBytesView)) else { violation("our head is not read again") }
            if again.destination != head.destination || again.framing != head.framing { violation("our head differs") }
        },
        Fuzzer(
            "proxy-response",
            texts: [
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: x\r\nX: 1\r\n\r\n",
                "HTTP/1.0 304 \r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\n\r\n",
            ]
        ) { bytes in
            var reader = HTTP1HeadReader(.response, limit: 65_536)
            var input = ByteBuffer(bytes: bytes)
            guard let raw = try reader.take(from: &input) else { return }
            let head = try ResponseHead(raw, to: "GET")
            _ = head.forwarded(closes: false, saysKeepAlive: false, addsVia: true)
        },
        Fuzzer("chunks", texts: ["5;a=b\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n"]) {
            bytes in
            var content = 0
            var body = HTTP1BodyReader(.chunked)
            var input = ByteBuffer(bytes: bytes)
            while let part = try body.next(from: &input) {
                if case .content(let piece) = part { content += piece.readableBytes }
            }
            if content > bytes.count { violation("more content than bytes") }
        },
        Fuzzer(
            "socks-request",
            seeds: [
                [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80],
                [5, 1, 0, 5, 1, 0, 3, 6, 97, 46, 116, 101, 115, 116, 1, 187],
                [5, 2, 0, 2, 1, 2, 109, 101, 2, 104, 105, 5, 1, 0, 4] + [UInt8](repeating: 1, count: 18),
            ]
        ) { bytes in
            var reader = SOCKSReader(credentials: ProxyCredentials(user: "me", password: "hi"))
            var input = ByteBuffer(bytes: bytes)
            while reader.next(&input) != nil {}
        },
        Fuzzer(
            "socks-answer",
            seeds: [[5, 0, 5, 0, 0, 1, 1, 2, 3, 4, 0, 80], [5, 2, 1, 0, 5, 0, 0, 3, 2, 65, 66, 0, 80]]
        ) {
            let origin = Origin(scheme: .https, host: try Host("a.test"), port: 443)
            var handshake = try SOCKSHandshake(
                to: origin,
                by: Proxy(.socks5, origin: origin, user: "me", password: "hi")
            )
            for byte in $0 { _ = try handshake.receive(ByteBuffer(bytes: [byte])) }
        },
        Fuzzer("hls", texts: [playlist]) { bytes in try mapped(bytes, as: .hls) },
        Fuzzer("dash", texts: [manifest]) { bytes in try mapped(bytes, as: .dash) },
        Fuzzer(
            "gateway-documents",
            texts: [
                #"{"ASSETS":[{"URI":"https://cdn.example/ad","DURATION":9.5},{"URI":"../../ad2"}],"X":[null,true,{}]}"#,
                #"{"TTL":9,"RELOAD-URI":"y","PATHWAY-CLONES":[{"ID":"b","URI-REPLACEMENT":{"HOST":"cdn.example"}}]}"#,
            ]
        ) { bytes in
            let base = try HTTPURL("https://live.example/s/x")
            let mapper = DocumentMapper(links: links, base: base, gateway: "http://G")
            for kind in [PlaylistMapper.Kind.assets, .steering] { _ = try? mapper.mapped(bytes, as: kind) }
        },
    ]

    private static func read(_ bytes: [UInt8]) -> RequestHead? {
        var reader = HTTP1HeadReader(.request, limit: RequestHead.lengthLimit)
        var input = ByteBuffer(bytes: bytes)
        return try? reader.take(from: &input).map { try RequestHead($0) }
    }

    private static func mapped(_ bytes: [UInt8], as kind: PlaylistMapper.Kind) throws {
        let mapper = PlaylistMapper(links: links, base: try HTTPURL("https://live.example/s/x"))
        let once = try mapper.mapped(ByteBuffer(bytes: bytes), as: kind)
        if once.readableBytes > bytes.count * 100 + 10_000 { violation("a document grows without bound") }
    }

    private static let playlist = """
        #EXTM3U
        #EXT-X-DEFINE:NAME="h",VALUE="https://cdn.example"
        #EXT-X-DEFINE:IMPORT="i"
        #EXT-X-KEY:METHOD=AES-128,URI="https://cdn.example/key",IV=0x1
        #EXT-X-MAP:URI="init.mp4",BYTERANGE="100@0"
        #EXTINF:9.5,
        {$h}/a.ts?{$i}
        https://live.example/b.ts

        """

    private static let manifest = """
        <?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>https://cdn.example/</BaseURL>
        <Location>https://live.example/m.mpd</Location><SegmentTemplate media="//cdn.example/$Number%05d$.m4s"/>
        <!-- c --><![CDATA[https://cdn.example/]]><SegmentURL media="/x?a=1&amp;b=2"/></MPD>

        """
}
