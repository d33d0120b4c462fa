// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `beeline cookies replay`: runs cases from standard input and prints their answers.
struct CookiesReplay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run test cases from standard input, one JSON line each, and print one JSON line for each."
    )

    func run() throws {
        let replay = ReplayRunner()
        while let line = readLine() {
            if line.allSatisfy(\.isWhitespace) { continue }
            try StandardOutput.writeLine(replay.answer(line))
        }
    }
}

/// Runs the cases of `beeline cookies replay`, each with a new jar.
struct ReplayRunner {
    /// Runs a case given as a line of JSON and returns its answer as a line of JSON.
    func answer(_ line: String) -> String {
        let answer: ReplayAnswer
        do {
            answer = run(try JSONDecoder().decode(ReplayCase.self, from: Data(line.utf8)))
        } catch {
            answer = .error(nil, "not a case: \(error)")
        }
        return JSONOutput.line(answer)
    }

    func run(_ replayed: ReplayCase) -> ReplayAnswer {
        switch replayed.kind ?? "jar" {
        case "date":
            let date = CookieTime(cookieDate: replayed.input ?? "")
            return .date(replayed.id, date.map { $0.microseconds / 1_000_000 })
        case "psl":
            let host = try? Host(replayed.domain ?? "")
            return .registrable(replayed.id, host.flatMap(PublicSuffixList.registrableDomain))
        case "jar":
            let jar = CookieJar()
            var now = replayed.now.map(CookieTime.init(secondsSince1970:)) ?? .now
            return .results(replayed.id, (replayed.steps ?? []).map { run($0, in: jar, &now) })
        case let kind:
            return .error(replayed.id, "kind \"\(kind)\": write jar, date or psl")
        }
    }

    private func run(_ step: ReplayCase.Step, in jar: CookieJar, _ now: inout CookieTime) -> ReplayAnswer.StepResult {
        if let time = step.now { now = CookieTime(secondsSince1970: time) }
        switch step.op {
        case "set":
            let lines = step.lines
            do {
                let url = try HTTPURL(step.url ?? "")
                return .outcomes(
                    lines.map { jar.store(octets: $0, from: url, context: step.context, now: now).description }
                )
            } catch {
                return .outcomes(lines.map { _ in "rejected: \(error)" })
            }
        case "get":
            guard let url = try? HTTPURL(step.url ?? "") else { return .header([]) }
            return .header(jar.headerOctets(for: url, context: step.context, now: now) ?? [])
        case "import":
            let octets =
                step.text_b64.flatMap { Data(base64Encoded: $0) }.map(Array.init) ?? Array((step.text ?? "").utf8)
            guard let format = CookieFormat(rawValue: step.format ?? "netscape") else {
                return .error("format \"\(step.format ?? "")\": write netscape, headers, json or storage-state")
            }
            let read = format.read(octets, now: now)
            let outcomes = jar.insert(read.cookies, now: now)
            let rejected = outcomes.count { if case .rejected = $0 { true } else { false } }
            return .imported(outcomes.count - rejected, skipped: read.problems.count + rejected)
        case let operation:
            return .error("op \"\(operation)\": write set, get or import")
        }
    }
}

extension ReplayCase.Step {
    fileprivate var lines: [[UInt8]] {
        if let lines = set_cookie_b64 { return lines.map { Array(Data(base64Encoded: $0) ?? Data()) } }
        return (set_cookie ?? []).map { Array($0.utf8) }
    }

    fileprivate var context: CookieContext { CookieContext(api: api, site: site, method: method ?? "GET") }
}
