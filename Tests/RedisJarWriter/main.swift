// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineRedis
import CookieJar

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

// A process that shares a jar and can be killed at any time: `RedisJarWriter PORT JAR ID FIRST LAST [KEYFILE]`.
// Carries out the numbered changes FIRST to LAST. Prints `done N` when all changes up to N are on the server.

/// Writes a line to standard output without a buffer, because a killed process does not flush.
func say(_ line: String) {
    let octets = Array((line + "\n").utf8)
    _ = octets.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

let arguments = CommandLine.arguments
guard arguments.count >= 6, let port = UInt16(arguments[1]), let first = Int(arguments[4]), let last = Int(arguments[5])
else { exit(64) }
let changes = NumberedChanges(id: arguments[3])

do throws(any Error) {
    var configuration = RedisJarConfiguration(name: arguments[2])
    configuration.redis.port = port
    if arguments.count > 6 { configuration.key = try RedisJarKey(file: arguments[6]) }
    let shared = try RedisJar(configuration)
    try await shared.synchronize(within: .seconds(60))
    say("opened")
    for number in stride(from: first, through: last, by: 1) {
        changes.apply(number, to: shared.jar)
        if number % NumberedChanges.step == 0 || number == last {
            try await shared.synchronize(within: .seconds(120))
            say("done \(number)")
        }
    }
    try await shared.close()
    say("closed")
} catch {
    say("error \(error)")
    exit(1)
}
#endif
