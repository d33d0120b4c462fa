// SPDX-License-Identifier: Apache-2.0

#if Redis
import Beeline
import BeelineRedis
import CookieJar
import Names

import LibC

/// Logins at an origin that counts them. Each makes the session cookie's number higher.
struct NumberedLogins {
    /// The login page, without its query.
    private let page: String
    private let origin: Origin

    init(port: UInt16) throws {
        page = "http://127.0.0.1:\(port)/login"
        origin = try HTTPURL(page).origin
    }

    /// Makes sure that the jar has the session with this number or a later one. Returns false if the lease or the server was lost.
    func logIn(_ number: Int, with shared: RedisJar) async throws -> Bool {
        let login = "\(page)?number=\(number)&process=\(getpid())"
        do {
            _ = try await shared.ensureLoggedIn(to: origin, within: .seconds(120)) { jar in
                let session = jar.allCookies().first { $0.name == "session" }
                return session.flatMap { Int($0.value) } ?? 0 >= number
            } logIn: { jar in
                let client = try BeelineClient(jar: jar)
                do {
                    _ = try await client.get(login)
                    await client.shutDown()
                } catch {
                    await client.shutDown()
                    throw error
                }
            }
            return true
        } catch let error as RedisError where [.leaseLost, .unavailable].contains(error.code) {
            return false
        }
    }
}
#endif
