// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle
import Beeline
import BeelineServer
import BeelineService
import Logging
import ServiceLifecycle

// The code of BeelineService's guide, compiled; see GuideSnippets.swift.

func services(_ client: BeelineClient, server: HTTPDNSServer, logger: Logger) async throws {
    let group = ServiceGroup(
        services: [LifecycleService(client, grace: .seconds(5)), LifecycleService(server)],
        logger: logger
    )
    try await group.run()
}
#endif
