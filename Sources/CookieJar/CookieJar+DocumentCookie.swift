// SPDX-License-Identifier: Apache-2.0

public import Names

/// Cookies for web views without access to a cookie store.
extension CookieJar {
    /// A script that sets the jar's cookies in a page. Run it when the document starts to load. The first request needs
    /// ``header(for:context:now:)``, because the script runs after it.
    ///
    /// The script omits HttpOnly cookies, which scripts can neither read nor set. It also omits cookies that `document.cookie`
    /// cannot set: cookies that are not UTF-8, and Partitioned cookies. The script is safe to embed between `<script>` tags.
    ///
    /// - Parameter url: The URL of the page.
    /// - Parameter now: The time. Default: the time of the jar's clock.
    public func documentCookieScript(for url: HTTPURL, now: CookieTime? = nil) -> String {
        var script = ""
        for cookie in cookies(for: url, context: CookieContext(api: .dom), now: now) {
            // A widening filter lets HttpOnly cookies through.
            guard cookie.partition == nil, !cookie.isHTTPOnly,
                let field = String(validUTF8: cookie.setCookieOctets)
            else { continue }
            script += "document.cookie=\(Self.literal(field));\n"
        }
        return script
    }

    /// A script that sets the jar's cookies in all pages and frames of a site. Run it in each of them when its document starts to
    /// load. It contains the cookies of the URL's registrable domain and of all hosts below. Each cookie is set only in pages
    /// that its domain matches.
    ///
    /// The script keeps cookies that the page already has. It runs once for each origin and tab, so that cookies that a page
    /// changed or deleted do not come back with the next page. A page without session storage, which cannot keep a mark for
    /// this, gets no cookies. It omits the same cookies as ``documentCookieScript(for:now:)``.
    ///
    /// A narrowing filter receives `url` for the cookies that match this page. For each other cookie it receives a URL with the
    /// cookie's own host and path. A widening filter has no effect.
    ///
    /// - Parameter url: The URL of a page of the site.
    /// - Parameter now: The time. Default: the time of the jar's clock.
    package func siteCookieScript(for url: HTTPURL, now: CookieTime? = nil) -> String {
        let site = Site(of: url)
        var calls = ""
        let passes = siteFilter(for: url, now: now)
        let cookies = allCookies(now: now).sorted { ($0.created, $0.name, $0.path) < ($1.created, $1.name, $1.path) }
        for cookie in cookies where !cookie.isHTTPOnly && cookie.partition == nil {
            guard let host = try? Host(cookie.domain), Site(isSecure: site.isSecure, host: host) == site,
                passes(cookie, host),
                let field = String(validUTF8: cookie.setCookieOctets)
            else { continue }
            let texts = [cookie.domain, cookie.name, field].map(Self.literal).joined(separator: ",")
            calls += "set(\(!cookie.isHostOnly),\(texts));\n"
        }
        if calls.isEmpty { return "" }
        // The mark depends on the cookies, so that a script with other cookies runs again.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in calls.utf8 { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01b3 }
        return """
            (function(){
            var mark="beeline-\(String(hash, radix: 16))",host=location.hostname;
            try{if(sessionStorage.getItem(mark))return;sessionStorage.setItem(mark,"1");}catch(e){return;}
            function set(wide,domain,name,field){
            if(host!==domain&&!(wide&&host.slice(-domain.length-1)==="."+domain))return;
            if(("; "+document.cookie).indexOf("; "+name+"=")>=0)return;
            document.cookie=field;
            }
            \(calls)})();

            """
    }

    /// Returns a function that applies the jar's filter to a cookie and a host, for the script of a site.
    private func siteFilter(for url: HTTPURL, now: CookieTime?) -> (Cookie, Host) -> Bool {
        guard let filter = configuration.matchFilter, !filter.widens else {
            return { _, _ in true }
        }
        var configuration = configuration
        configuration.matchFilter = nil
        let unfiltered = CookieJar(configuration: configuration)
        unfiltered.insert(allCookies(now: now), now: now)
        let key = { (cookie: Cookie) in [cookie.nameOctets, Array(cookie.domain.utf8), Array(cookie.path.utf8)] }
        let ofPage = Set(unfiltered.cookies(for: url, context: CookieContext(api: .dom), now: now).map(key))
        return { cookie, host in
            if ofPage.contains(key(cookie)) { return filter.matches(cookie, url) }
            let origin = Origin(scheme: url.origin.scheme, host: host, port: url.origin.port)
            return (try? HTTPURL("\(origin)\(cookie.path)")).map { filter.matches(cookie, $0) } ?? false
        }
    }

    /// Makes a JavaScript string literal that is safe in HTML.
    private static func literal(_ text: String) -> String {
        var literal = "\""
        for unit in text.utf16 {
            switch unit {
            // Letters, digits and characters without a meaning in JavaScript or HTML. All other characters are escaped: quotes,
            // `</script>`, `<!--`, and the line separators U+2028 and U+2029, which end a literal in older engines.
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: literal.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            case let unit where unit < 0x7f && " !#$%()*+,-./:;=?@[]^_`{|}~".utf16.contains(unit):
                literal.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                literal += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return literal + "\""
    }
}
