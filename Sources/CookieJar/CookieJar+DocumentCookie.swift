// SPDX-License-Identifier: Apache-2.0

public import Names

/// Cookies for web views that cannot be handed a cookie store.
extension CookieJar {
    /// A script that gives a page the cookies of the jar, to be run when the document begins to load. The first request
    /// needs ``header(for:context:now:)``, because the script comes after it.
    ///
    /// It has no HttpOnly cookies: no script may see them, and none can set them. Nor has it cookies that are not UTF-8,
    /// are Partitioned or have a path of more than 1,024 octets, which `document.cookie` cannot write. It may be put into a page, between `<script>` tags too.
    ///
    /// - Parameter url: The URL of the page.
    /// - Parameter now: The time; default what the jar's clock says.
    public func documentCookieScript(for url: HTTPURL, now: CookieTime? = nil) -> String {
        var script = ""
        for cookie in cookies(for: url, context: CookieContext(api: .dom), now: now) {
            // A filter that widens lets HttpOnly cookies through.
            guard cookie.partition == nil, !cookie.isHTTPOnly,
                cookie.path.utf8.count <= SetCookieParser.maximumAttributeLength,
                let field = String(validating: cookie.setCookieOctets, as: UTF8.self)
            else { continue }
            script += "document.cookie=\(Self.literal(field));\n"
        }
        return script
    }

    /// A script that gives the pages and frames of a site the cookies of the jar, to be run in each of them when its document
    /// begins to load: those of the URL's registrable domain and every host below, each in pages of its own domain alone.
    ///
    /// It leaves alone what a page has already, and runs once for each origin and tab: what a page has changed or deleted
    /// does not come back with the next page. What ``documentCookieScript(for:now:)`` cannot write, it cannot either.
    ///
    /// A filter that narrows is asked with `url` for the cookies that this page would get, and for each other one with a URL
    /// of the cookie's own host and path; one that widens changes nothing.
    ///
    /// - Parameter url: The URL of a page of the site.
    /// - Parameter now: The time; default what the jar's clock says.
    public func siteCookieScript(for url: HTTPURL, now: CookieTime? = nil) -> String {
        let site = Site(of: url)
        var calls = ""
        let passes = siteFilter(for: url, now: now)
        let cookies = allCookies(now: now).sorted { ($0.created, $0.name, $0.path) < ($1.created, $1.name, $1.path) }
        for cookie in cookies where !cookie.isHTTPOnly && cookie.partition == nil {
            guard let host = try? Host(cookie.domain), Site(isSecure: site.isSecure, host: host) == site,
                cookie.path.utf8.count <= SetCookieParser.maximumAttributeLength, passes(cookie, host),
                let field = String(validating: cookie.setCookieOctets, as: UTF8.self)
            else { continue }
            let texts = [cookie.domain, cookie.name, field].map(Self.literal).joined(separator: ",")
            calls += "set(\(!cookie.isHostOnly),\(texts));\n"
        }
        if calls.isEmpty { return "" }
        // The mark is another for other cookies, so that a later script runs too.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in calls.utf8 { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01b3 }
        return """
            (function(){
            var mark="beeline-\(String(hash, radix: 16))",host=location.hostname;
            try{if(sessionStorage.getItem(mark))return;}catch(e){}
            function set(wide,domain,name,field){
            if(host!==domain&&!(wide&&host.slice(-domain.length-1)==="."+domain))return;
            if(("; "+document.cookie).indexOf("; "+name+"=")>=0)return;
            document.cookie=field;
            }
            \(calls)try{sessionStorage.setItem(mark,"1");}catch(e){}
            })();

            """
    }

    /// Whether the jar's filter lets a cookie of a host into the script for a site.
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

    /// A JavaScript string literal that also stands safely in HTML.
    private static func literal(_ text: String) -> String {
        var literal = "\""
        for unit in text.utf16 {
            switch unit {
            // Letters, digits and what has no meaning in JavaScript or HTML. All else is an escape: quotes, `</script>`,
            // `<!--`, and the line separators U+2028 and U+2029, which end a literal in older engines.
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
