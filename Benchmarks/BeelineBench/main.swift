// SPDX-License-Identifier: Apache-2.0

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "cookies": try CookieBench(Array(arguments.dropFirst())).run()
default: print("beeline-bench cookies --look-ms MS --fill-ms MS [--dump PREFIX] WORKLOAD.tsv")
}
