// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import HTTPTypes
import NIOCore
import Names
import Testing

@testable import BeelineProxy

@Suite("Playlist links that lead to the gateway")
struct PlaylistMapperTests {
    private static let links = GatewayLinks(hosts: ["live.example", "cdn.example"], token: "T")

    private func map(_ text: String, _ kind: PlaylistMapper.Kind) throws -> String {
        let base = try HTTPURL("https://live.example/a/index.m3u8")
        return try PlaylistMapper(links: Self.links, base: base).mapped(text, as: kind)
    }

    @Test(
        "a link is mapped by its scheme and host, or by its leading slash",
        arguments: [
            ("seg1.ts", nil), ("../b/seg1.ts?x=1", nil), ("#part", nil), ("", nil),
            ("/b/seg1.ts", "/T/https/live.example/b/seg1.ts"),
            ("//cdn.example/x", "/T/https/cdn.example/x"),
            ("https://cdn.example/x.ts?a=b&c", "/T/https/cdn.example/x.ts?a=b&c"),
            ("HTTP://CDN.example:8080/x", "/T/http/cdn.example:8080/x"),
            ("https://cdn.example:443/x", "/T/https/cdn.example/x"),
            ("https://a.cdn.example/$Number%05d$.m4s", "/T/https/a.cdn.example/$Number%05d$.m4s"),
            ("https://cdn.example", "/T/https/cdn.example/"),
            ("https://cdn.example?x", "/T/https/cdn.example/?x"),
            ("https://elsewhere.example/x", nil), ("https://notcdn.example.evil/x", nil),
            ("https://us%40er:p%3Aw@cdn.example/x", "/T/https/us%40er:p%3Aw@cdn.example/x"), ("data:text/plain,x", nil),
            ("ftp://cdn.example/x", nil),
            ("https:///x", nil),
        ] as [(String, String?)]
    )
    func links(link: String, mapped: String?) throws {
        let base = try HTTPURL("https://live.example/a/index.m3u8")
        #expect(Self.links.mapped(link[...], base: base) == mapped)
        if let mapped { #expect(Self.links.target(of: mapped.replacing("$", with: "")) != nil, "it leads back") }
    }

    @Test("an HLS playlist's URI lines and URI attributes are mapped, with any line ending")
    func hls() throws {
        let text = """
            #EXTM3U\r
            #EXT-X-KEY:METHOD=AES-128,URI="https://cdn.example/key?a,b",IV=0x1\r
            #EXT-X-MAP:URI="/init.mp4"
            #EXT-X-MEDIA:TYPE=AUDIO,NAME="URI=https://cdn.example/",URI="audio/en.m3u8"
            # a comment with https://cdn.example/
            #EXTINF:4.0,https://cdn.example/ is a title
            https://cdn.example/1.ts
            2.ts

            /3.ts
            https://elsewhere.example/4.ts
            """
        let expected = """
            #EXTM3U\r
            #EXT-X-KEY:METHOD=AES-128,URI="/T/https/cdn.example/key?a,b",IV=0x1\r
            #EXT-X-MAP:URI="/T/https/live.example/init.mp4"
            #EXT-X-MEDIA:TYPE=AUDIO,NAME="URI=https://cdn.example/",URI="audio/en.m3u8"
            # a comment with https://cdn.example/
            #EXTINF:4.0,https://cdn.example/ is a title
            /T/https/cdn.example/1.ts
            2.ts

            /T/https/live.example/3.ts
            https://elsewhere.example/4.ts
            """
        #expect(try map(text, .hls) == expected)
    }

    @Test("a DASH manifest's elements and attributes that hold a URL are mapped, and nothing else")
    func dash() throws {
        let text = """
            <?xml version="1.0"?>
            <MPD xmlns="https://cdn.example/schema" type='dynamic'>
              <!-- <BaseURL>https://cdn.example/</BaseURL> -->
              <Location>https://live.example/a/index.mpd</Location>
              <BaseURL serviceLocation="a>b"> https://cdn.example/v/ </BaseURL>
              <Title>https://cdn.example/</Title>
              <SegmentTemplate media='/s/$Number$.m4s?a=1&amp;b' initialization="init.mp4" duration="4"/>
              <SegmentURL media = "https://cdn.example/1.m4s" mediaRange="0-1"/>
            </MPD>
            """
        let expected = """
            <?xml version="1.0"?>
            <MPD xmlns="https://cdn.example/schema" type='dynamic'>
              <!-- <BaseURL>https://cdn.example/</BaseURL> -->
              <Location>/T/https/live.example/a/index.mpd</Location>
              <BaseURL serviceLocation="a>b"> /T/https/cdn.example/v/ </BaseURL>
              <Title>https://cdn.example/</Title>
              <SegmentTemplate media='/T/https/live.example/s/$Number$.m4s?a=1&amp;b' initialization="init.mp4" duration="4"/>
              <SegmentURL media = "/T/https/cdn.example/1.m4s" mediaRange="0-1"/>
            </MPD>
            """
        #expect(try map(text, .dash) == expected)
    }

    @Test("unterminated variables are scanned in linear time", .timeLimit(.minutes(1)))
    func openVariables() {
        var variables = PlaylistVariables()
        variables.recordDefinition(in: "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"b\"")
        let open = String(repeating: "{$", count: 400_000)
        #expect(variables.resolved(open[...]) == nil)
        #expect(variables.resolved((open + "{$a}")[...]) == open + "b")
    }

    @Test(
        "a variable that other playlists import gets no slash at its end, because a path follows it"
    )
    func importedVariables() throws {
        for (value, mapped) in [
            ("https://cdn.example", "/T/https/cdn.example"), ("https://cdn.example/", "/T/https/cdn.example/"),
            ("https://cdn.example/v", "/T/https/cdn.example/v"), ("https://cdn.example?x", "/T/https/cdn.example/?x"),
        ] {
            let tag = "#EXT-X-DEFINE:NAME=\"base\",VALUE=\""
            #expect(try map("\(tag)\(value)\"", .hls) == "\(tag)\(mapped)\"")
            // The playlist that defines the variable uses its original value.
            let line = try map("\(tag)\(value)\"\n{$base}/1.ts", .hls).split(separator: "\n").last
            let link = value.hasSuffix("?x") ? "/T/https/cdn.example/?x/1.ts" : mapped + "/1.ts"
            #expect(line.map(String.init) == link)
        }
    }

    @Test("variables of an HLS playlist are substituted before its links are mapped")
    func variables() throws {
        let text = """
            #EXTM3U
            #EXT-X-DEFINE:NAME="host",VALUE="cdn.example"
            #EXT-X-DEFINE:NAME="base",VALUE="https://{$host}/v"
            #EXT-X-DEFINE:IMPORT="path"
            #EXT-X-DEFINE:VALUE="{$host}",X-NAME="no",NAME="late"
            #EXT-X-KEY:METHOD=AES-128,URI="https://{$host}/key"
            https://{$late}/{$path}/1.ts
            {$base}/2.ts
            {$path}/3.ts
            4.ts?from={$host}
            {$base
            {5}.ts
            """
        let expected = """
            #EXTM3U
            #EXT-X-DEFINE:NAME="host",VALUE="cdn.example"
            #EXT-X-DEFINE:NAME="base",VALUE="/T/https/cdn.example/v"
            #EXT-X-DEFINE:IMPORT="path"
            #EXT-X-DEFINE:VALUE="{$host}",X-NAME="no",NAME="late"
            #EXT-X-KEY:METHOD=AES-128,URI="/T/https/cdn.example/key"
            /T/https/cdn.example/{$path}/1.ts
            /T/https/cdn.example/v/2.ts
            {$path}/3.ts
            4.ts?from=cdn.example
            {$base
            {5}.ts
            """
        #expect(try map(text, .hls) == expected)
    }

    @Test("nested variables do not expand a small playlist into a large one")
    func variablesAreBounded() throws {
        var text = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"v0\",VALUE=\"0123456789\"\n"
        for index in 1..<40 {
            let reference = "{$v\(index - 1)}"
            text += "#EXT-X-DEFINE:NAME=\"v\(index)\",VALUE=\"\(reference)\(reference)\(reference)\(reference)\"\n"
        }
        #expect(try map(text + "{$v39}\n", .hls).utf8.count < 2 * PlaylistMapper.sizeLimit)
    }

    @Test("links in CDATA, UTCTiming, ContentSteering and Laurl elements of a DASH manifest are mapped")
    func dashServices() throws {
        let text = """
            <BaseURL><![CDATA[https://cdn.example/v/?a&b]]></BaseURL><![CDATA[https://cdn.example/]]>
            <BaseURL><!-- main -->//cdn.example/v/</BaseURL>
            <UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="https://live.example/t https://x.example/t"/>
            <UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value="2026-03-01T12:00:00Z"/>
            <EventStream value="https://live.example/t"/>
            <ContentSteering queryBeforeStart="true">https://cdn.example/steer</ContentSteering>
            <dashif:Laurl>https://live.example/licence</dashif:Laurl>
            """
        let expected = """
            <BaseURL><![CDATA[/T/https/cdn.example/v/?a&b]]></BaseURL><![CDATA[https://cdn.example/]]>
            <BaseURL><!-- main -->/T/https/cdn.example/v/</BaseURL>
            <UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="/T/https/live.example/t https://x.example/t"/>
            <UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value="2026-03-01T12:00:00Z"/>
            <EventStream value="https://live.example/t"/>
            <ContentSteering queryBeforeStart="true">/T/steering/https/cdn.example/steer</ContentSteering>
            <dashif:Laurl>/T/https/live.example/licence</dashif:Laurl>
            """
        #expect(try map(text, .dash) == expected)
        #expect(PlaylistMapper.Kind(contentType: "application/dash-patch+xml; charset=utf-8", path: "/p") == .dash)
    }

    @Test("HLS links that lead above the root of their origin become absolute paths at the gateway")
    func aboveRoot() throws {
        for (link, mapped) in [
            ("../1.ts", "../1.ts"), ("../../1.ts?x=../..", "/T/https/live.example/1.ts?x=../.."),
            ("b/../../../../c/1.ts", "/T/https/live.example/c/1.ts"), ("b/../../1..ts", "b/../../1..ts"),
            ("data:../../x", "data:../../x"), ("https://elsewhere.example/../x", "https://elsewhere.example/../x"),
        ] {
            #expect(try map(link, .hls) == mapped)
        }
    }

    @Test(
        "a link above the root is resolved as players resolve it, whatever its form",
        arguments: [
            "../../../1.ts?t=12:30", "../../1.ts#t=1:2", "/../1.ts", "/a/../../1.ts?x", "//cdn.example/../1.ts",
            "https://cdn.example/../b/1.ts", "https://cdn.example/a/../../1.ts#x", "HTTPS://cdn.example:8443/../1.ts",
        ]
    )
    func formsAboveRoot(_ link: String) throws {
        let base = try HTTPURL("https://live.example/a/index")
        let expected = try #require(Self.links.path(for: try base.resolving(link)))
        for (kind, before, after) in [
            (PlaylistMapper.Kind.hls, "", "\n"), (.hls, "#EXT-X-MAP:URI=\"", "\""),
            (.dash, "<MPD><Period><SegmentTemplate initialization='", "'/></Period></MPD>"),
            (.dash, "<MPD><BaseURL>", "</BaseURL><Period/></MPD>"),
            (.dash, "<MPD><BaseURL>b/</BaseURL><BaseURL><![CDATA[", "]]></BaseURL></MPD>"),
        ] {
            #expect(try map(before + link + after, kind) == before + expected + after)
        }
    }

    @Test("a link below a BaseURL does not have the manifest as its base")
    func belowABaseURL() throws {
        let text = "<MPD><BaseURL>v/w/x/</BaseURL><Period><BaseURL>../../</BaseURL><S media='../../1'/></Period></MPD>"
        #expect(try map(text, .dash) == text)
    }

    @Test("a combining character after a delimiter does not hide it")
    func combiningCharacters() throws {
        for mark in ["\u{301}", "\u{200d}", "\u{fe0f}"] {
            let (old, new) = ("https://cdn.example/\(mark)a/1.ts", "/T/https/cdn.example/\(mark)a/1.ts")
            for (kind, before, after) in [
                (PlaylistMapper.Kind.hls, "", "\n\(mark)"), (.hls, "#EXT-X-MAP:X=\"\(mark)\",URI=\"", "\"\(mark)"),
                (.dash, "<MPD>\(mark)<BaseURL>", "<\(mark)"), (.dash, "<S a='\(mark)' media='", "'\(mark)>"),
            ] {
                #expect(try map(before + old + after, kind).utf8.elementsEqual((before + new + after).utf8))
            }
            #expect(try map("/\(mark)/1.ts", .hls) == "/T/https/live.example/\(mark)/1.ts")
        }
    }

    @Test("a manifest in UTF-16 is mapped in the byte order of its mark", arguments: [true, false])
    func utf16(isBigEndian: Bool) throws {
        func octets(_ text: String) -> ByteBuffer {
            ByteBuffer(
                bytes: ("\u{feff}" + text).utf16.flatMap { unit in
                    let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xff))
                    return isBigEndian ? [high, low] : [low, high]
                }
            )
        }
        let base = try HTTPURL("https://live.example/a/index.mpd")
        let mapper = PlaylistMapper(links: Self.links, base: base)
        let text = "<MPD><!-- ü𝄞 --><BaseURL>https://cdn.example/x/</BaseURL></MPD>"
        let mapped = text.replacing("https://cdn.example", with: "/T/https/cdn.example")
        #expect(try mapper.mapped(octets(text), as: .dash) == octets(mapped))
        // Half a character, and half a surrogate pair.
        for end in [[0x20], [0xd8, 0xd8]] as [[UInt8]] {
            var broken = octets(text)
            broken.writeBytes(end)
            #expect(try mapper.mapped(broken, as: .dash) == broken)
        }
    }

    @Test("bytes of a playlist that are not UTF-8 stay as they are")
    func octets() throws {
        let base = try HTTPURL("https://live.example/a/index.m3u8")
        func document(_ host: String) -> ByteBuffer {
            var bytes = ByteBuffer(string: "#EXTINF:4,caf")
            bytes.writeInteger(UInt8(0xe9))
            bytes.writeString("\r\n\(host)/1.ts\r\n")
            bytes.writeBytes([0xff, 0x80])
            return bytes
        }
        let mapped = try PlaylistMapper(links: Self.links, base: base).mapped(document("https://cdn.example"), as: .hls)
        #expect(mapped == document("/T/https/cdn.example"))
    }

    @Test("asset lists and steering manifests are recognized by the tag that names them, and mapped")
    func documents() throws {
        let tags = """
            #EXT-X-DATERANGE:ID="1",X-ASSET-LIST="https://cdn.example/list?a"
            #EXT-X-DATERANGE:ID="2",X-ASSET-LIST="list.json",X-ASSET-URI="https://cdn.example/ad.m3u8"
            #EXT-X-CONTENT-STEERING:SERVER-URI="/steer",PATHWAY-ID="a"
            """
        let expected = """
            #EXT-X-DATERANGE:ID="1",X-ASSET-LIST="/T/assets/https/cdn.example/list?a"
            #EXT-X-DATERANGE:ID="2",X-ASSET-LIST="/T/assets/https/live.example/a/list.json",X-ASSET-URI="/T/https/cdn.example/ad.m3u8"
            #EXT-X-CONTENT-STEERING:SERVER-URI="/T/steering/https/live.example/steer",PATHWAY-ID="a"
            """
        #expect(try map(tags, .hls) == expected)
        let target = Self.links.target(of: "/T/assets/https/cdn.example/list?a")
        #expect(target?.kind == .assets && target?.url.description == "https://cdn.example/list?a")

        let base = try HTTPURL("https://live.example/s/x")
        let mapper = DocumentMapper(links: Self.links, base: base, gateway: "http://G")
        func mapped(_ text: String, as kind: PlaylistMapper.Kind) throws -> String? {
            try mapper.mapped(Array(text.utf8), as: kind)
        }
        #expect(
            try mapped(
                #"{"X":[1.5,null,true],"ASSETS":[{"URI":"https:\/\/cdn.example/ad","DURATION":9},{"URI":"ad2"}]}"#,
                as: .assets
            )
                == #"{"ASSETS":[{"DURATION":9,"URI":"http://G/T/https/cdn.example/ad"},"#
                + #"{"URI":"http://G/T/https/live.example/s/ad2"}],"X":[1.5,null,true]}"#
        )
        let steering = #"""
            {"VERSION":1,"TTL":9,"RELOAD-URI":"y","PATHWAY-PRIORITY":["b"],"PATHWAY-CLONES":[
            {"BASE-ID":"a","ID":"b","URI-REPLACEMENT":{"HOST":"cdn.example","PARAMS":{"p":"q"}}},
            {"BASE-ID":"a","ID":"c","URI-REPLACEMENT":{"PER-VARIANT-URIS":{"v":"https://cdn.example/v","w":"https://x.example/"}}},
            {"BASE-ID":"a","ID":"d","URI-REPLACEMENT":{"HOST":"cdn.example","PER-RENDITION-URIS":{"v":"https://cdn.example/v"}}}
            ]}
            """#
        #expect(
            try mapped(steering, as: .steering)
                == #"{"PATHWAY-CLONES":["#
                + #"{"BASE-ID":"a","ID":"b","URI-REPLACEMENT":{"PARAMS":{"_beeline_host":"cdn.example","p":"q"}}},"#
                + #"{"BASE-ID":"a","ID":"c","URI-REPLACEMENT":{"PER-VARIANT-URIS":"#
                + #"{"v":"http://G/T/https/cdn.example/v","w":"https://x.example/"}}}],"#
                + #""PATHWAY-PRIORITY":["b"],"RELOAD-URI":"http://G/T/steering/https/live.example/s/y","TTL":9,"VERSION":1}"#
        )
        for text in ["[]", "<", "{\"ASSETS\":1}", ""] { #expect(try mapped(text, as: .assets) == nil) }
    }

    @Test(
        "a JSON object that cannot be mapped is refused, not passed on with its links",
        arguments: ["", "\u{feff} \n"]
    )
    func unreadableDocument(_ start: String) throws {
        let mapper = DocumentMapper(
            links: Self.links,
            base: try HTTPURL("https://live.example/s/x"),
            gateway: "http://G"
        )
        let values = String(repeating: "0,", count: DocumentMapper.maxValues)
        for text in ["{", "{\"X\":[\(values)0],\"ASSETS\":[{\"URI\":\"https://cdn.example/ad\"}]}"] {
            #expect(throws: MappingBudget.Fault.unreadable) {
                try mapper.mapped(Array((start + text).utf8), as: .assets)
            }
        }
    }

    @Test("an asset list with more values than before is mapped")
    func longAssetList() throws {
        let mapper = DocumentMapper(
            links: Self.links,
            base: try HTTPURL("https://live.example/s/x"),
            gateway: "http://G"
        )
        let asset = "{\"URI\":\"https://cdn.example/ad\",\"X\":[1,2,3,4,5,6,7,8,9,10]}"
        let text = "{\"ASSETS\":[\(String(repeating: asset + ",", count: 2_000) + asset)]}"
        let mapped = try #require(try mapper.mapped(Array(text.utf8), as: .assets))
        #expect(!mapped.contains("\"https://cdn.example"))
    }

    @Test("a cloned pathway's links lead to its host")
    func steered() throws {
        for (url, expected) in [
            ("https://live.example:8443/v/1?a&_beeline_host=cdn.example&b", "https://cdn.example:8443/v/1?a&b"),
            ("https://live.example/v?_beeline_host=cdn.example%3A444", "https://cdn.example:444/v"),
            ("https://live.example/v?_beeline_host=a%2Fb", nil), ("https://live.example/v?a=_beeline_host", nil),
        ] as [(String, String?)] {
            #expect(try Self.links.steered(HTTPURL(url))?.description == expected)
        }
    }

    @Test("a path with a wrong token, host or scheme has no target")
    func paths() throws {
        #expect(Self.links.target(of: "/T/https/live.example/a?b=c")?.url.description == "https://live.example/a?b=c")
        for path in [
            "/U/https/live.example/a", "/T/https/evil.example/a", "/T/ftp/live.example/a", "/T/https", "/T", "/",
            "/T/https/live.example@evil.example/", "/T/other/https/live.example/",
            "/T/https/evil.example#.live.example/", "/T/https//live.example/",
        ] {
            #expect(Self.links.target(of: path) == nil, "\(path)")
        }
    }

    @Test(
        "a cookie's path is below its origin's path at the gateway",
        arguments: [
            ("a=b", "a=b; Path=/T/https/live.example/a"),
            ("a=b; Domain=live.example; Path=/; Secure; HttpOnly", "a=b; Path=/T/https/live.example/; HttpOnly"),
            ("a=b; path=/x; Max-Age=5; SameSite=None", "a=b; Path=/T/https/live.example/x; Max-Age=5"),
            ("a=b; Path = /x ; Domain =live.example;\tSecure ;HttpOnly", "a=b; Path=/T/https/live.example/x; HttpOnly"),
        ]
    )
    func cookies(value: String, expected: String) throws {
        let url = try HTTPURL("https://live.example/a/index.m3u8")
        #expect(GatewayFields.setCookie(value, of: url, links: Self.links) == expected)
    }

    @Test("mapping a document of any bytes twice gives the same as mapping it once, and never traps")
    func fuzz() throws {
        let base = try HTTPURL("https://live.example/a/index.m3u8")
        let mapper = PlaylistMapper(links: Self.links, base: base)
        let seeds = [
            "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"https://cdn.example/k\"\r\nhttps://cdn.example/1.ts\n2.ts\n",
            "#EXT-X-DEFINE:NAME=\"v\",VALUE=\"https://cdn.example/\"\nhttps://{$v}/1.ts\n{$v}1.ts\n",
            "<MPD a='b'><BaseURL>https://cdn.example/</BaseURL><S media=\"https://cdn.example/1\"/><!-- x --></MPD>",
        ]
        let pieces = [
            "\"", "'", "<", ">", "\n", "\r\n", "URI=", "X-ASSET-LIST=", "https://", "../", "cdn.example", "/", "<!--",
            "]]>", "\u{301}", "&",
        ]
        var random = SeededRandom(seed: 9)
        for round in 0..<FuzzRounds.count(ordinary: 3_000) {
            var text = Array(seeds[round % seeds.count])
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let at = Int.random(in: 0...text.count, using: &random)
                if Bool.random(using: &random) {
                    text.insert(contentsOf: pieces.randomElement(using: &random) ?? "", at: at)
                } else {
                    text.removeSubrange(at..<min(text.count, at + Int.random(in: 1...6, using: &random)))
                }
            }
            for kind in [PlaylistMapper.Kind.hls, .dash] {
                let once = try mapper.mapped(String(text), as: kind)
                // Mapped links are paths at the gateway. A base on a listed host would map them again.
                let unrelated = PlaylistMapper(links: Self.links, base: try HTTPURL("https://other.example/"))
                #expect(try unrelated.mapped(once, as: kind) == once)
            }
        }
    }

    @Test(
        "mapping a JSON document of any bytes gives JSON that another gateway leaves unchanged, and never traps"
    )
    func documentFuzz() throws {
        let base = try HTTPURL("https://live.example/s/x")
        let mapper = DocumentMapper(links: Self.links, base: base, gateway: "http://G")
        let unrelated = DocumentMapper(links: GatewayLinks(hosts: [], token: "U"), base: base, gateway: "http://H")
        let seeds: [(String, PlaylistMapper.Kind)] = [
            (
                #"{"ASSETS":[{"URI":"https://cdn.example/ad","DURATION":9.5},{"URI":"../../ad2"}],"X":[null,true,{}]}"#,
                .assets
            ),
            (
                #"{"TTL":9,"RELOAD-URI":"y","PATHWAY-CLONES":[{"ID":"b","URI-REPLACEMENT":{"HOST":"cdn.example","PARAMS":{}}},"#
                    + #"{"ID":"c","URI-REPLACEMENT":{"PER-VARIANT-URIS":{"v":"https://cdn.example/v"}}}]}"#, .steering
            ),
        ]
        let pieces = [
            "\"", "{", "}", "[", "]", ",", ":", "\\", "\\u00e9", "\u{e9}", "null", "\"HOST\":", "..", "//", "\0",
        ]
        var random = SeededRandom(seed: 11)
        for round in 0..<FuzzRounds.count(ordinary: 5_000) {
            let (seed, kind) = seeds[round % seeds.count]
            var bytes = Array(seed.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let at = Int.random(in: 0...bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").utf8, at: at)
                } else {
                    bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...6, using: &random)))
                }
            }
            guard let once = try? mapper.mapped(bytes, as: kind) else { continue }
            #expect(try unrelated.mapped(Array(once.utf8), as: kind) == once)
        }
    }
}
