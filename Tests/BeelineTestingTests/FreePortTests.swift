// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Names
import Testing

// One test holds a port that another could have got.
@Suite("Free ports", .serialized)
struct FreePortTests {
    @Test("ports are free, different, and not from the range of outgoing connections")
    func range() throws {
        let ports = try freePorts(20) + freePorts(20)
        #expect(Set(ports).count == 40 && ports.allSatisfy { $0 < 32_768 })
        // A port that is in use cannot be bound.
        for port in ports {
            let endpoint = try RefusedEndpoint(port: port)
            #expect(endpoint.endpoint.port == port)
            endpoint.close()
        }
    }

    @Test("a port in use is skipped")
    func inUse() throws {
        let next = try #require(try freePorts(1).first) + 1
        let held = try? RefusedEndpoint(port: next)
        #expect(try freePorts(1).first != next)
        held?.close()
    }
}
