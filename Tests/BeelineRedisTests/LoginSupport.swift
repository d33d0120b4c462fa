// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Names

@testable import BeelineRedis

extension RedisJar {
    /// Logs in at the shop, unless the jar has a cookie `session` with this value.
    ///
    /// - Parameter value: Nil for any value.
    func logInAtShop(
        until value: String? = nil,
        within limit: Duration = .seconds(60),
        _ body: @escaping @Sendable (CookieJar) async throws -> Void
    ) async throws -> LoginOutcome {
        try await ensureLoggedIn(
            to: try HTTPURL("https://shop.test/").origin,
            within: limit,
            isLoggedIn: { $0.allCookies().contains { $0.name == "session" && $0.value == value ?? $0.value } },
            logIn: body
        )
    }

    /// Starts a login that runs until it is cancelled. Returns when it has begun.
    func beginEndlessLogin() async throws -> Task<LoginOutcome, any Error> {
        let began = Gate()
        let login = Task {
            try await logInAtShop { _ in
                began.open()
                try await Gate().wait()
            }
        }
        // Also if the login fails before it begins.
        Task {
            _ = await login.result
            began.open()
        }
        try await began.wait()
        return login
    }
}

extension Cookie {
    /// The cookie of a login at the shop.
    static func session(_ value: String) -> Cookie { Cookie("session", value, domain: "shop.test") }
}
#endif
