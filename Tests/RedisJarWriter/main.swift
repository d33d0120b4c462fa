// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineRedis
import CookieJar

import LibC

// A process that shares a jar and can be killed at any time: `RedisJarWriter URL ID FIRST LAST [ORIGIN_PORT]`.
// Without a port it carries out the numbered changes FIRST to LAST, and prints `done N` when all changes up to N are on the
// server. With a port it makes sure of the numbered logins FIRST to LAST at 127.0.0.1, and prints `done N` when the jar is
// logged in for the Nth time, and `lost N` if the lease or the server was lost during the login.

/// Writes a line to standard output without a buffer, because a killed process does not flush.
func say(_ line: String) {
    let octets = Array((line + "\n").utf8)
    _ = octets.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

/// Carries out numbered changes.
func change(_ shared: RedisJar, id: String, first: Int, last: Int) async throws {
    let changes = NumberedChanges(id: id)
    for number in stride(from: first, through: last, by: 1) {
        changes.apply(number, to: shared.jar)
        if number % NumberedChanges.step == 0 || number == last {
            try await shared.synchronize(within: .seconds(120))
            say("done \(number)")
        }
    }
}

/// Makes sure of numbered logins.
func logIn(_ shared: RedisJar, origin: UInt16, first: Int, last: Int) async throws {
    let logins = try NumberedLogins(port: origin)
    for number in stride(from: first, through: last, by: 1) {
        while try await !logins.logIn(number, with: shared) {
            say("lost \(number)")
            try await shared.synchronize(within: .seconds(120))
        }
        say("done \(number)")
    }
}

let arguments = CommandLine.arguments
guard arguments.count >= 5, let first = Int(arguments[3]), let last = Int(arguments[4]) else { exit(64) }

do throws(any Error) {
    var configuration = try RedisJarConfiguration(url: arguments[1])
    configuration.redis.timeout = .seconds(2)
    configuration.redis.retryDelay = .milliseconds(5)...Duration.milliseconds(100)
    configuration.leaseLifetime = .seconds(3)
    let shared = try RedisJar(configuration)
    try await shared.synchronize(within: .seconds(60))
    say("opened")
    if arguments.count > 5, let port = UInt16(arguments[5]) {
        try await logIn(shared, origin: port, first: first, last: last)
    } else {
        try await change(shared, id: arguments[2], first: first, last: last)
    }
    try await shared.close(within: .seconds(120))
    say("closed")
} catch {
    say("error \(error)")
    exit(1)
}
#endif
