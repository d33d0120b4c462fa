// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

/// Many tasks that share one jar.
struct ConcurrencyTests {
    @Test func eightTasksLoseNoUpdate() async throws {
        let jar = CookieJar()
        await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    let own = "https://host-\(task).example/"
                    for index in 0..<100 {
                        try jar.set("n\(index)=\(task); Path=/", from: own)
                        try jar.set(
                            "shared\(task)=\(index); Path=/; Domain=shared.example",
                            from: "https://shared.example/x"
                        )
                        _ = try jar.get(own)
                        _ = try jar.get("https://shared.example/", at: Double(index))
                    }
                }
            }
        }
        for task in 0..<8 {
            let header = try #require(try jar.get("https://host-\(task).example/"))
            #expect(header == (0..<100).map { "n\($0)=\(task)" }.joined(separator: "; "))
        }
        let shared = try #require(try jar.get("https://shared.example/"))
        #expect(Set(shared.split(separator: "; ")) == Set((0..<8).map { "shared\($0)=99" }))
    }
}
