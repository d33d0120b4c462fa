// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import LibC

let arguments = Array(CommandLine.arguments.dropFirst())
let rest = Array(arguments.dropFirst())
do {
    switch arguments.first {
    case "cookies": try CookieBench(rest).run()
    case "resolver": try await ResolverBench(rest).run()
    case "bulk": try await BulkBench(rest).run()
    case "origins": try await OriginsBench(rest).run()
    case "stalled": try await StalledBench(rest).run()
    case "client": try await ClientBench(rest).run()
    case "cache": try await CacheBench(rest).run()
    default:
        print(
            """
            beeline-bench cookies --look-ms MS --fill-ms MS [--dump PREFIX] WORKLOAD.tsv
            beeline-bench resolver --mode doh|httpdns --server URL --connect IP:PORT --cafile PEM --tag T --cold N \
            --cached-ms MS --cached-names K [--on-loop|--tasks-on-loops] [--plain]
            beeline-bench client --url URL --connect IP:PORT --cafile PEM --http 1|2 --conc N --ms MS [--close] \
            [--layer engine|client] [--on-loop|--tasks-on-loops] [--loops N] [--no-sessions]
            beeline-bench bulk --url URL --connect IP:PORT [--cafile PEM] [--http 1|2]
            beeline-bench origins|stalled --url URL --connect IP:PORT --count N [--cafile PEM] [--http 1|2]
            beeline-bench cache --names N --threads T --ms MS
            """
        )
    }
} catch {
    BenchOutput.note("beeline-bench: \(error)")
    exit(1)
}
