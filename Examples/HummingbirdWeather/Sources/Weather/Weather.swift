// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineService
import Foundation
import Hummingbird

/// A Hummingbird application whose handler fetches from another service through HTTPDNS.
///
///     swift run Weather https://api.example.com/weather
///     curl http://127.0.0.1:8080/weather
///
/// The client is a service of the application: SIGTERM ends the requests in progress first, then the client.
@main
enum Weather {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            print("usage: Weather URL")
            exit(64)
        }
        let source = CommandLine.arguments[1]
        let client = try BeelineClient()
        let router = Router()
        router.get("weather") { _, _ -> String in
            let response = try await client.get(source)
            return String(buffer: try await response.collect(upTo: 1 << 20))
        }
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: 8_080)),
            services: [LifecycleService(client, grace: .seconds(5))]
        )
        try await application.runService()
    }
}
