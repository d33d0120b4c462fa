// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Foundation
import HTTPDNS

@testable import BeelineWebDriver

extension Fuzzer {
    /// Decoders of the messages of browsers, in WebDriver BiDi and in the DevTools protocol.
    static let drivers: [Fuzzer] = [
        Fuzzer(
            "browser-messages",
            texts: [
                #"{"id":1,"result":{"cookies":[{"name":"n","value":{"type":"base64","value":"/w=="},"domain":".a.test","path":"/"}]}}"#,
                """
                {"type":"success","id":2,"result":{"cookies":[{"name":"n","value":"v","domain":"a.test","path":"/","secure":true,\
                "httpOnly":false,"sameSite":"Lax","expires":1900000000.25,"expiry":1900000000,"session":false,\
                "partitionKey":{"topLevelSite":"https://b.test","hasCrossSiteAncestor":true}}]}}
                """,
                #"{"type":"error","id":3,"error":"no such frame","message":"gone\nstack"}"#,
                #"{"method":"browsingContext.contextDestroyed","params":{"context":"1","parent":null}}"#,
                #"{"method":"network.responseStarted","params":{"response":{"headers":[{"name":"Set-Cookie"}]}}}"#,
            ]
        ) { bytes in
            guard let message = BrowserMessage(String(decoding: bytes, as: UTF8.self)) else { return }
            _ = FirefoxSession.hint(message)
            let cookies = try message.result(of: "x", as: DriverCookies.self).cookies
            for cookie in cookies { check(cookie) }
            _ = try ShownCookies(cookies, name: Cookie.biDiName) { Cookie(biDi: $0) }
        }
    ]

    /// Checks that a cookie keeps its value if it is set as it was read.
    private static func check(_ shown: DriverCookie) {
        if let cookie = Cookie(devTools: shown), let written = cookie.devTools {
            guard let again = read(written), Cookie(devTools: again)?.pairOctets == cookie.pairOctets else {
                violation("a cookie of DevTools is not read again as itself")
            }
        }
        // Firefox reads and writes other values in different forms.
        if let cookie = Cookie(biDi: shown), cookie.valueOctets.allSatisfy({ $0 < 0x80 }), let written = cookie.biDi {
            guard let again = read(written), Cookie(biDi: again)?.valueOctets == cookie.valueOctets else {
                violation("a cookie of WebDriver BiDi is not read again as itself")
            }
        }
        if let cookie = Cookie(webKit: shown), let written = cookie.webKit {
            guard read(written)?.text == cookie.value else {
                violation("a cookie of WebDriver is not read again as itself")
            }
        }
    }

    private static func read(_ written: JSONValue) -> DriverCookie? {
        try? JSONDecoder().decode(DriverCookie.self, from: Data(written.text.utf8))
    }
}
