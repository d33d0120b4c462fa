// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names
import Testing

@testable import CookieJar

/// Behaviour of a jar beyond the models of the RFC: bounds, sessions, partitions and policies.
struct JarTests {
    // MARK: Bounds

    @Test func aFullDomainLosesItsLeastUsedCookieThatIsNotSecure() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookiesPerDomain = 3
        let jar = CookieJar(configuration: configuration)
        try jar.set("a=1; Secure; Path=/a", from: "https://example.com/", at: 0)
        try jar.set("b=1; Path=/b", from: "https://example.com/", at: 1)
        try jar.set("c=1; Path=/c", from: "https://example.com/", at: 2)
        // `b` is used here, so that `c` is the least recently used.
        _ = try jar.get("https://example.com/b", at: 10)
        try jar.set("d=1; Path=/d", from: "https://example.com/", at: 11)
        #expect(Set(jar.allCookies(now: .after(12)).map(\.name)) == ["a", "b", "d"])
    }

    @Test func whatHasExpiredGoesFirst() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookiesPerDomain = 2
        let jar = CookieJar(configuration: configuration)
        try jar.set("a=1", from: "https://example.com/", at: 0)
        try jar.set("b=1; Secure; Max-Age=5", from: "https://example.com/", at: 1)
        try jar.set("c=1", from: "https://example.com/", at: 10)
        #expect(Set(jar.allCookies(now: .after(10)).map(\.name)) == ["a", "c"])
    }

    @Test func aDomainFullOfSecureCookiesHasNoRoomForOthers() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookiesPerDomain = 2
        let jar = CookieJar(configuration: configuration)
        try jar.set("a=1; Secure", from: "https://example.com/", at: 0)
        try jar.set("b=1; Secure", from: "https://example.com/", at: 1)
        #expect(try jar.set("c=1", from: "https://example.com/", at: 2) == .rejected(.noRoom))
        #expect(try jar.set("d=1; Secure", from: "https://example.com/", at: 3) == .kept)
        #expect(try jar.get("https://example.com/", at: 4) == "b=1; d=1")
    }

    @Test func aFullJarTakesFromCrowdedDomainsFirst() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = 20
        configuration.crowdedDomainCount = 5
        let jar = CookieJar(configuration: configuration)
        for index in 0..<10 { try jar.set("a\(index)=1", from: "https://small-\(index).example/", at: Double(index)) }
        for index in 0..<13 { try jar.set("b\(index)=1", from: "https://large.example/", at: 100 + Double(index)) }
        let cookies = jar.allCookies(now: .after(200))
        #expect(cookies.count == 20)
        #expect(cookies.count { $0.domain.hasPrefix("small") } == 10)
        #expect(try jar.get("https://large.example/", at: 200)?.hasPrefix("b3=1") == true)
    }

    @Test func ofCookiesThatAreInsertedTogetherThoseWithoutRoomAreSaid() {
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = 3000
        let jar = CookieJar(configuration: configuration)
        let before = (0..<10).map { Cookie("old", "1", domain: "old-\($0).example") }
        jar.insert(before, now: noon)
        let cookies = (0..<5000).map { Cookie("a", "1", domain: "host-\($0).example") }
        let addition = jar.add(cookies, now: .after(1))
        let present = Set(jar.allCookies(now: .after(2)).map(\.domain))
        #expect(addition.dropped == 5010 - present.count && addition.dropped > 0)
        for (cookie, outcome) in zip(cookies, addition.outcomes) {
            #expect(outcome == (present.contains(cookie.domain) ? .kept : .rejected(.noRoom)))
        }
        // Cookies that were in the jar before are evicted first, and are counted with the others.
        #expect(!present.contains("old-0.example"))
        #expect(addition.displaced == 10 - present.count { $0.hasPrefix("old") })
    }

    @Test func whatMadeRoomIsCountedWhereCookiesComeTwice() {
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = 100
        let jar = CookieJar(configuration: configuration)
        jar.insert((0..<10).map { Cookie("old", "1", domain: "old-\($0).example") }, now: noon)
        let twice = (0..<200).flatMap { number in
            ["1", "2"].map { Cookie("a", $0, domain: "host-\(number).example") }
        }
        let addition = jar.add(twice, now: .after(1))
        #expect(addition.displaced == 10 && addition.outcomes.contains(.rejected(.noRoom)))
    }

    @Test func aClockThatWasAheadKeepsNoCookieBeforeThoseInUse() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookiesPerDomain = 2
        let jar = CookieJar(configuration: configuration)
        try jar.set("ahead=1", from: "https://example.com/", at: 1_000_000)
        try jar.set("a=1", from: "https://example.com/", at: 1)
        _ = try jar.get("https://example.com/", at: 2_000_000)
        try jar.set("b=1", from: "https://example.com/", at: 10)
        // All have a last use in the present or the future, so the one that was created first is evicted.
        #expect(Set(jar.allCookies(now: .after(10)).map(\.name)) == ["a", "b"])
    }

    @Test func aCookieOfAnotherPlaceThatTheJarRefusesTakesNobodysPlace() {
        let jar = CookieJar()
        let own = Cookie("a", "1", domain: "example.com")
        jar.insert(own, now: noon)
        var other = own
        other.sameSite = .none
        other.created = .after(5)
        let addition = jar.merge(stored: [other], source: ChangeSource(), now: .after(6))
        #expect(addition.outcomes == [.rejected(.sameSiteNoneWithoutSecure)])
        #expect(jar.allCookies(now: .after(7)).map(\.value) == ["1"])
    }

    @Test func followersThatHaveGoneAreForgottenThoughNothingChanges() {
        let jar = CookieJar()
        for _ in 0..<100 { _ = jar.follow(now: noon).cookies }
        #expect(jar.state.withLockedValue { $0.followers.count } == 1)
    }

    @Test func aPathThatNoReaderTakesIsNotWrittenForTheWholeHost() {
        let long = Cookie("a", "1", domain: "example.com", path: "/" + String(repeating: "x", count: 1024))
        let lines = SetCookieLines.write([long, Cookie("b", "1", domain: "example.com")])
        #expect(SetCookieLines.read(lines, now: noon).cookies.map(\.name) == ["b"])
        // No jar takes it either.
        #expect(CookieJar().insert(long, now: noon) == .rejected(.pathTooLong))
    }

    @Test func aClockAt1970ShortensTheLifeOfNoLoadedCookie() {
        let jar = CookieJar()
        var cookie = Cookie("a", "1", domain: "example.com")
        cookie.expires = .after(300 * 86_400)
        #expect(jar.insert(cookie, now: CookieTime(secondsSince1970: 60)) == .kept)
        #expect(jar.allCookies(now: noon).map(\.expires) == [.after(300 * 86_400)])
        // A plausible clock limits it.
        cookie.expires = .after(500 * 86_400)
        #expect(jar.insert(cookie, now: noon) == .replaced)
        #expect(jar.allCookies(now: noon).map(\.expires) == [.after(400 * 86_400)])
    }

    @Test func rehomingToTheAddressItselfMovesAndDeletesNothing() throws {
        let address = try #require(IPAddress("192.0.2.1"))
        let jar = CookieJar()
        try jar.set("a=1", from: "https://192.0.2.1/")
        let cookies = jar.allCookies(now: noon)
        #expect(jar.rehome(from: address, to: Host(address), now: noon) == CookieRehoming())
        #expect(jar.allCookies(now: noon) == cookies && cookies.count == 1)
        let plan = RehomingPlan(cookies, from: address, to: Host(address), now: noon)
        #expect(plan.moves.isEmpty && plan.superseded.isEmpty && plan.refused.isEmpty)
    }

    @Test func aSiteOfManyHostsDoesNotTakeTheRoomOfTheOthers() throws {
        let jar = CookieJar()
        for site in 0..<100 { try jar.set("login=1", from: "https://site-\(site).example/", at: Double(site)) }
        let partition = CookieContext(site: .cross, topLevelSite: Site("https://page.example"))
        for host in 0..<100 {
            for number in 0..<50 {
                let url = "https://h\(host).evil.example/"
                if host.isMultiple(of: 2) {
                    try jar.set("n\(number)=1", from: url, at: 1000)
                } else {
                    try jar.set(
                        "n\(number)=1; Secure; SameSite=None; Partitioned",
                        from: url,
                        context: partition,
                        at: 1000
                    )
                }
            }
        }
        let cookies = jar.allCookies(now: .after(2000))
        #expect(cookies.count { $0.name == "login" } == 100)
        #expect(cookies.count <= 3300)
    }

    @Test func aCookieThatALaterOneDeletesIsNotOneWithoutRoom() {
        let jar = CookieJar()
        var gone = Cookie("a", "", domain: "example.com")
        gone.expires = noon
        let addition = jar.add([Cookie("a", "1", domain: "example.com"), gone], now: .after(1))
        #expect(addition.outcomes == [.kept, .deleted] && addition.dropped == 0)
    }

    @Test func aFilterIsAskedForEveryCookieOfALargeJarWhenAScriptIsMade() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookiesPerDomain = 500
        configuration.matchFilter = .narrowing { $1.path == "/page" }
        let jar = CookieJar(configuration: configuration)
        for number in 0..<400 { jar.insert(Cookie("n\(number)", "1", domain: "example.com"), now: noon) }
        let script = jar.siteCookieScript(for: try HTTPURL("https://example.com/page"), now: noon)
        #expect(script.split(separator: "\n").count { $0.hasPrefix("set(") } == 400)
    }

    @Test func theJarStaysWithinATenthOfItsBound() throws {
        let jar = CookieJar()
        for index in 0..<10_000 { try jar.set("a=1", from: "https://host-\(index).example/", at: Double(index)) }
        #expect((3000...3300).contains(jar.allCookies(now: .after(20_000)).count))
        #expect(try jar.get("https://host-9999.example/", at: 20_000) == "a=1")
    }

    @Test(arguments: [1, 2, 5]) func cookiesOfAnyLengthAreWrittenWhole(perHeader: Int) throws {
        for length in 0..<260 {
            let jar = CookieJar()
            let pairs = (0..<perHeader).map { "n\($0)=\(String(repeating: "v", count: (length + $0 * 61) % 260))" }
            for pair in pairs { try jar.set(pair, from: "https://example.com/") }
            let expected = pairs.joined(separator: "; ")
            #expect(try jar.get("https://example.com/") == expected)
            #expect(jar.headerOctets(for: try HTTPURL("https://example.com/"), now: noon) == Array(expected.utf8))
        }
    }

    // MARK: Sessions

    @Test func theEndOfASessionTakesWhatHasNoExpiry() throws {
        let jar = CookieJar()
        try jar.set("a=1", from: "https://example.com/")
        try jar.set("b=1; Max-Age=60", from: "https://example.com/")
        #expect(jar.endSession() == 1)
        #expect(try jar.get("https://example.com/") == "b=1")
    }

    @Test func clearSessionTakesWhatThisSessionStoredAndNothingElse() throws {
        let jar = CookieJar()
        let url = try HTTPURL("https://example.com/")
        jar.insert(
            [Cookie("old", "1", domain: "example.com"), Cookie("kept", "1", domain: "example.com")],
            isOfThisSession: false,
            now: noon
        )
        try jar.set("old=2; Max-Age=60", from: "https://example.com/")
        try jar.set("new=1; Max-Age=60", from: "https://example.com/")
        #expect(jar.clearSession() == 2)
        #expect(jar.header(for: url, now: noon) == "kept=1")
    }

    @Test func jarsSideBySideKnowNothingOfEachOther() throws {
        let (one, other) = (CookieJar(), CookieJar())
        try one.set("a=1", from: "https://example.com/")
        #expect(try other.get("https://example.com/") == nil)
    }

    // MARK: Partitions

    @Test func partitionedCookiesAreKeptApartBySite() throws {
        let jar = CookieJar()
        let page = { (site: String) throws -> CookieContext in
            CookieContext(site: .cross, topLevelSite: Site(of: try HTTPURL(site)))
        }
        let field = "__Host-p=1; Secure; Path=/; SameSite=None; Partitioned"
        #expect(try jar.set(field, from: "https://ad.example/", context: page("https://a.com/")) == .kept)
        #expect(
            try jar.set(
                field.replacing("p=1", with: "p=2"),
                from: "https://ad.example/",
                context: page("https://b.com/")
            ) == .kept
        )
        #expect(try jar.get("https://ad.example/", page("https://www.a.com/x")) == "__Host-p=1")
        #expect(try jar.get("https://ad.example/", page("https://b.com/")) == "__Host-p=2")
        #expect(try jar.get("https://ad.example/", page("https://c.com/")) == nil)
        #expect(try jar.get("https://ad.example/") == nil)
        #expect(try jar.set("q=1; Partitioned", from: "https://ad.example/") == .rejected(.partitionedWithoutSecure))
        #expect(try jar.set("own=1; Secure; Partitioned", from: "https://ad.example/") == .kept)
        #expect(try jar.get("https://ad.example/") == "own=1")
        #expect(jar.removeAll() == 3)
    }

    // MARK: Policies

    @Test func anAcceptPolicyRefuses() throws {
        let url = "https://example.com/"
        var configuration = CookieJarConfiguration()
        configuration.acceptPolicy = .none
        #expect(try CookieJar(configuration: configuration).set("a=1", from: url) == .rejected(.policy))
        configuration.acceptPolicy = .onlyFromMainDocumentSite
        let jar = CookieJar(configuration: configuration)
        let foreign = CookieContext(topLevelSite: Site(of: try HTTPURL("https://other.org/")))
        let own = CookieContext(topLevelSite: Site(of: try HTTPURL("https://www.example.com/")))
        #expect(try jar.set("a=1", from: url, context: foreign) == .rejected(.policy))
        #expect(try jar.set("a=1", from: url, context: own) == .kept)
        #expect(try jar.set("b=1", from: url) == .kept)
        configuration.acceptPolicy = .custom { cookie, _ in cookie.partition == foreign.topLevelSite }
        let partitioned = CookieJar(configuration: configuration)
        #expect(try partitioned.set("a=1; Secure; Partitioned", from: url, context: foreign) == .kept)
        #expect(try partitioned.set("a=1; Secure", from: url, context: foreign) == .rejected(.policy))
        configuration.acceptPolicy = .custom { cookie, url in cookie.name != "track" && url.host.text == "example.com" }
        let custom = CookieJar(configuration: configuration)
        #expect(try custom.set("track=1", from: url) == .rejected(.policy))
        #expect(try custom.set("a=1", from: url) == .kept)
        #expect(try custom.set("a=1", from: "https://www.example.com/") == .rejected(.policy))
    }

    @Test func aMatchFilterNarrowsAndWidensOnlyWhenTold() throws {
        var configuration = CookieJarConfiguration()
        configuration.matchFilter = .narrowing { cookie, _ in cookie.name != "b" }
        let narrow = CookieJar(configuration: configuration)
        configuration.matchFilter = .widening { cookie, url in url.host.text.hasSuffix(cookie.domain) }
        let wide = CookieJar(configuration: configuration)
        for jar in [narrow, wide] {
            try jar.set("a=1; Path=/x", from: "https://example.com/")
            try jar.set("b=1", from: "https://example.com/")
            try jar.set("c=1; Max-Age=5", from: "https://example.com/")
        }
        #expect(try narrow.get("https://example.com/x") == "a=1; c=1")
        #expect(try narrow.get("https://www.example.com/x") == nil)
        #expect(try wide.get("https://www.example.com/", at: 6) == "a=1; b=1")
    }

    @Test func cookiesOfTheRequestWinByName() throws {
        let jar = CookieJar()
        let url = try HTTPURL("https://example.com/")
        try jar.set("a=jar", from: "https://example.com/")
        try jar.set("b=jar", from: "https://example.com/")
        let pairs = CookiePair.pairs(of: "b=own; c = 2 ;; plain;x=\u{1}")
        #expect(jar.header(for: url, joining: pairs, now: noon) == "a=jar; b=own; c=2; plain")
        #expect(jar.header(for: url, joining: [], now: noon) == "a=jar; b=jar")
        #expect(CookiePair("a;b", "") == nil && CookiePair("a", "x\r\ny") == nil && CookiePair("a=b", "") == nil)
    }

    @Test func aContextIsMadeOfPageAndRequest() throws {
        let page = try HTTPURL("https://www.example.com/page")
        let same = CookieContext(
            request: try HTTPURL("https://api.example.com/"),
            from: page,
            isTopLevelNavigation: false,
            method: "POST"
        )
        #expect(same.site == .same && !same.isSafeMethod)
        let other = try HTTPURL("https://other.org/")
        let frame = CookieContext(request: other, from: page, isTopLevelNavigation: false, method: "GET")
        #expect(frame.site == .cross && frame.topLevelSite == Site(of: page))
        let link = CookieContext(request: other, from: page, isTopLevelNavigation: true, method: "GET")
        #expect(link.site == .lax && link.isSafeMethod && link.topLevelSite == Site(of: other))
    }

    // MARK: Values

    @Test(arguments: [
        ("a name with =", Cookie("a=b", "1", domain: "example.com"), CookieRejection.malformedName),
        ("a value with ;", Cookie("a", "1;2", domain: "example.com"), .malformedValue),
        ("a line end", Cookie("a", "1\n", domain: "example.com"), .controlCharacter),
        ("a path without a slash", Cookie("a", "1", domain: "example.com", path: "x"), .malformedPath),
        ("a domain with a dot before it", Cookie("a", "1", domain: ".example.com"), .malformedDomain),
        ("a domain in capitals", Cookie("a", "1", domain: "Example.com"), .malformedDomain),
        ("nothing", Cookie("", "", domain: "example.com"), .empty),
        ("a prefix that it does not keep", Cookie("__Host-a", "1", domain: "example.com"), .hostPrefix),
    ])
    func aValueIsCheckedToo(_ sentence: String, _ cookie: Cookie, _ reason: CookieRejection) {
        #expect(CookieJar().insert(cookie, now: noon) == .rejected(reason), "\(sentence)")
    }

    @Test func aValueCannotBeForAPublicSuffix() {
        var cookie = Cookie("a", "1", domain: "co.uk")
        cookie.isHostOnly = false
        #expect(CookieJar().insert(cookie, now: noon) == .rejected(.publicSuffix))
        cookie.isHostOnly = true
        #expect(CookieJar().insert(cookie, now: noon) == .kept)
    }

    @Test func cookiesAreDeletedByURLByValueAndByRule() throws {
        let jar = CookieJar()
        try jar.set("a=1; HttpOnly", from: "https://example.com/")
        try jar.set("b=1; Domain=example.com", from: "https://www.example.com/")
        try jar.set("c=1", from: "https://other.org/")
        try jar.set("d=1", from: "https://other.org/")
        #expect(jar.removeAll(for: try HTTPURL("https://example.com/"), now: noon) == 2)
        #expect(jar.remove { $0.name == "c" } == 1)
        let last = try #require(jar.allCookies(now: noon).first)
        #expect(jar.remove(last))
        #expect(!jar.remove(last))
        #expect(jar.allCookies(now: noon).isEmpty)
    }

    // MARK: Repair

    @Test func cookiesOfAnAddressMoveToItsHost() throws {
        let jar = CookieJar()
        let host = try Host("www.example.com")
        let address = try #require(IPAddress("192.0.2.7"))
        try jar.set("id=ip; HttpOnly; Path=/x; Max-Age=60", from: "http://192.0.2.7/")
        try jar.set("old=ip", from: "http://192.0.2.7/")
        try jar.set("old=host", from: "https://www.example.com/", at: 1)
        try jar.set("new=host", from: "https://www.example.com/")
        try jar.set("new=ip; Domain=192.0.2.7", from: "http://192.0.2.7/", at: 1)
        try jar.set("other=1", from: "http://192.0.2.8/")
        let result = jar.rehome(from: address, to: host, now: .after(2))
        #expect(result.moved == 2 && result.superseded == 1 && result.refused.isEmpty)
        #expect(try jar.get("http://192.0.2.7/x", at: 3) == nil)
        #expect(try jar.get("http://192.0.2.8/", at: 3) == "other=1")
        #expect(try jar.get("http://www.example.com/x", at: 3) == "id=ip; new=ip; old=host")
        #expect(try jar.get("http://sub.www.example.com/", at: 3) == nil)
        let moved = try #require(jar.allCookies(now: .after(3)).first { $0.name == "id" })
        #expect(moved.isHTTPOnly && moved.expires == .after(60) && moved.created == noon)
    }

    @Test func whatMovesStaysOfItsSessionAndOfItsPartition() throws {
        let jar = CookieJar()
        let address = try #require(IPAddress("192.0.2.7"))
        jar.insert(Cookie("before", "1", domain: "192.0.2.7"), isOfThisSession: false, now: noon)
        try jar.set("own=1; Secure; Partitioned", from: "https://192.0.2.7/")
        #expect(jar.rehome(from: address, to: try Host("www.example.com"), now: noon).moved == 2)
        #expect(try jar.get("https://www.example.com/") == "before=1; own=1")
        #expect(jar.clearSession() == 1)
        #expect(try jar.get("https://www.example.com/") == "before=1")
    }

    @Test func cookiesOfAnIPv6AddressMoveToo() throws {
        let jar = CookieJar()
        try jar.set("a=1", from: "http://[2001:db8::7]/")
        let address = try #require(IPAddress("2001:db8::7"))
        #expect(jar.rehome(from: address, to: try Host("example.com"), now: noon).moved == 1)
        #expect(try jar.get("http://example.com/") == "a=1")
    }

    // MARK: Hosts

    @Test func aHostThatBeginsWithADotKeepsNoCookieThatNoFormatCouldHold() throws {
        let jar = CookieJar()
        for field in ["a=1", "a=1; Domain=example.com"] {
            #expect(try jar.set(field, from: "https://.www.example.com/") == .rejected(.malformedDomain))
        }
        #expect(jar.allCookies(now: noon).isEmpty)
    }

    // MARK: Web views

    @Test func theScriptForAPageIsSafeInHTML() throws {
        let jar = CookieJar()
        try jar.set("a=\"x</script><!--\\\u{2028}'; Path=/; Secure; SameSite=Lax", from: "https://example.com/")
        try jar.set("secret=1; HttpOnly", from: "https://example.com/")
        try jar.set("d=1; Domain=example.com; Max-Age=60", from: "https://www.example.com/")
        let script = jar.documentCookieScript(for: try HTTPURL("https://example.com/"), now: noon)
        #expect(
            script == #"""
                document.cookie="a=\u0022x\u003c/script\u003e\u003c!--\u005c\u2028\u0027; Path=/; Secure; SameSite=Lax";
                document.cookie="d=1; Path=/; Domain=example.com; Expires=Sun, 01 Mar 2026 12:01:00 GMT";

                """#
        )
    }

    @Test func noFilterPutsAnHTTPOnlyCookieIntoAScript() throws {
        var configuration = CookieJarConfiguration()
        configuration.matchFilter = .widening { _, _ in true }
        let jar = CookieJar(configuration: configuration)
        try jar.set("secret=1; HttpOnly", from: "https://example.com/")
        try jar.set("open=1", from: "https://example.com/")
        let script = jar.documentCookieScript(for: try HTTPURL("https://example.com/"), now: noon)
        #expect(script == "document.cookie=\"open=1; Path=/\";\n")
    }

    @Test func theScriptOfASiteHasNoMoreThanAFilterThatNarrowsLetsThrough() throws {
        var configuration = CookieJarConfiguration()
        configuration.matchFilter = .narrowing { cookie, url in
            cookie.name != "never" && !url.path.hasPrefix("/private") && url.host.text != "other.example.com"
        }
        let jar = CookieJar(configuration: configuration)
        for name in ["never", "a"] { try jar.set("\(name)=1; Path=/", from: "https://www.example.com/") }
        try jar.set("b=1; Domain=example.com", from: "https://www.example.com/")
        try jar.set("c=1; Path=/private", from: "https://www.example.com/")
        for host in ["other", "third"] { try jar.set("\(host)=1", from: "https://\(host).example.com/") }
        let names = { (url: String) in
            let script = jar.siteCookieScript(for: try HTTPURL(url), now: noon)
            return ["never", "a", "b", "c", "other", "third"].filter { script.contains("\"\($0)=1") }
        }
        #expect(try names("https://www.example.com/") == ["a", "b", "third"])
        #expect(try names("https://www.example.com/private/x") == ["third"])
    }

    // MARK: Pure

    @Test func aHeaderFieldBecomesACookieWithoutAJar() throws {
        let url = try HTTPURL("https://www.example.com/x/y")
        let cookie = try Cookie(setCookie: "a=1; Domain=example.com; Secure; Max-Age=60", from: url, now: noon)
        #expect(cookie.domain == "example.com" && !cookie.isHostOnly && cookie.path == "/x" && cookie.isSecure)
        #expect(cookie.expires == .after(60))
        #expect(throws: CookieRejection.publicSuffix) {
            try Cookie(setCookie: "a=1; Domain=com", from: url, now: noon)
        }
    }
}
