// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPDNS

extension MachineScript {
    /// A time in milliseconds, an event, and the machine's actions.
    typealias Row = (at: Int, step: Step, actions: [String])

    /// The origin of most tables.
    static let url = "https://w.test.example/"

    /// One upstream, `a`, that carries HTTPS records.
    static func carrying(
        families: Families = .v4,
        _ change: (inout ResolverConfiguration) -> Void = { _ in }
    ) -> MachineScript {
        MachineScript(["a"], families: families, carriers: ["a"], change)
    }

    /// Plays rows, compares the actions, and returns the script as it is then.
    @discardableResult
    func played(_ rows: [Row], sourceLocation: SourceLocation = #_sourceLocation) -> MachineScript {
        var script = self
        for row in rows {
            #expect(
                script.play(row.step, at: row.at) == row.actions,
                "\(row.at) \(row.step)",
                sourceLocation: sourceLocation
            )
        }
        return script
    }

    /// The first row of most tables: caller 1 asks for an origin, and the upstream gets both questions.
    static func asked(_ host: String = "w.test.example", usesECH: Bool = true) -> Row {
        (
            0, .askOrigin(1, "https://\(host)/", usesECH: usesECH),
            ["wake 2000", "ask a \(host)", "ask a HTTPS \(host)"]
        )
    }

    /// The rows of a caller whose origin gets a record, and the address 192.0.2.1.
    static func known(_ record: String, ttl: Int, as result: String) -> [Row] {
        [
            asked(), (5, .services("a", [record], ttl: ttl), []),
            (10, .answer("a", v4("192.0.2.1")), ["resume 1: fresh 192.0.2.1 to \(result)"]), (2_000, .time, []),
        ]
    }
}
