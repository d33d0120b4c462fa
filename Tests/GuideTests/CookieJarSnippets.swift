// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names

// The overview of CookieJar, compiled with the imports that its page names.

func jarAlone() throws {
    let jar = CookieJar()
    let url = try HTTPURL("https://www.example.com/account")
    print(jar.store("id=42; Domain=example.com; Secure; HttpOnly", from: url))  // kept
    print(jar.header(for: try HTTPURL("https://api.example.com/")) ?? "none")  // id=42
    print(jar.header(for: try HTTPURL("https://evil-example.com/")) ?? "none")  // none
}
