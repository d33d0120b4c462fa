// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

@testable import BeelineWebView

@Suite("The first load of a web view without a cookie store")
struct FirstLoadTests {
    let jar = CookieJar()
    let url: HTTPURL

    init() throws { url = try HTTPURL("https://www.a.test/start") }

    @Test(
        "the header has all cookies of the page, and the script has those of its site that scripts may set"
    )
    func both() throws {
        jar.store(["sid=1; HttpOnly; Secure", "theme=dark; Domain=a.test", "deep=2; Path=/deep"], from: url)
        jar.store("api=3", from: try HTTPURL("https://api.a.test/"))
        jar.store("other=4", from: try HTTPURL("https://b.test/"))
        let load = FirstLoad(of: url, from: jar)
        #expect(load.cookieHeader == "sid=1; theme=dark" || load.cookieHeader == "theme=dark; sid=1")
        #expect(load.script.contains(#"set(true,"a.test","theme","theme=dark; Path=/; Domain=a.test");"#))
        #expect(load.script.contains(#"set(false,"www.a.test","deep","deep=2; Path=/deep");"#))
        #expect(load.script.contains(#"set(false,"api.a.test","api","api=3; Path=/");"#))
        #expect(!load.script.contains("sid") && !load.script.contains("other"))
    }

    @Test("without cookies there is no header and no script")
    func nothing() {
        jar.store("sid=1; HttpOnly", from: url)
        #expect(FirstLoad(of: url, from: CookieJar()).cookieHeader == nil)
        #expect(FirstLoad(of: url, from: jar).script.isEmpty)
    }

    @Test("the script is identical for the same cookies, and a change of cookies makes a new one")
    func mark() {
        jar.store(["a=1", "b=2", "c=3"], from: url)
        let script = FirstLoad(of: url, from: jar).script
        #expect(script == FirstLoad(of: url, from: jar).script)
        jar.store("a=2", from: url)
        let mark = { (script: String) in script.split(separator: "\"").first { $0.hasPrefix("beeline-") } }
        #expect(mark(script) != nil && mark(script) != mark(FirstLoad(of: url, from: jar).script))
    }

    @Test("a page without session storage gets no cookies, because the script would undo a logout on each page")
    func noMark() {
        jar.store("a=1", from: url)
        let lines = FirstLoad(of: url, from: jar).script.split(separator: "\n")
        let mark = lines.firstIndex { $0.contains("setItem") && $0.contains("catch(e){return;}") }
        let call = lines.firstIndex { $0.hasPrefix("set(") }
        #expect(mark != nil && call != nil && mark ?? 0 < call ?? 0)
    }

    @Test("only the script of an earlier first load is recognized as one")
    func earlierScript() {
        jar.store("a=1", from: url)
        #expect(FirstLoad.isScript(FirstLoad(of: url, from: jar).script))
        #expect(!FirstLoad.isScript("(function(){ var mark = 1; })();") && !FirstLoad.isScript(""))
    }

    @Test("a cookie value cannot break out of its string in the script")
    func literals() {
        jar.store(#"a="</script>'+alert(1)//"#, from: url)
        let script = FirstLoad(of: url, from: jar).script
        #expect(
            script.contains(#""a=\u0022\u003c\u002f"#)
                || script.contains(#""a=\u0022\u003c/script\u003e\u0027+alert(1)//"#)
        )
        #expect(!script.contains("</script"))
    }
}
