// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the transfers: patterns in URLs, ranges, conditions, limits and retries.
struct TransferArguments: FetchOptionGroup {
    var globOff = false
    var range: String?
    var continueAt: String?
    var timeCondition: String?
    var etagSave: String?
    var etagCompare: String?
    var limitRate: String?
    var maxFileSize: String?
    var speedLimit: Int?
    var speedTime: Int?
    var maxTime: Double?
    var raw = false
    var ignoresLength = false
    var retry = 0
    var retryDelay: Double?
    var retryMaxTime: Double?
    var retriesAllErrors = false
    var retriesRefusals = false

    static let options: [FetchOption] = [
        .flag("globoff", "g", help: "Take {} and [] in URLs literally") { $0.transfer.globOff = $1 },
        .text("range", "r", value: "range", help: "Request only these bytes, such as 0-499") { $0.transfer.range = $1 },
        .text("continue-at", "C", value: "at", help: "Resume at this byte; - uses the size of the file") {
            $0.transfer.continueAt = $1
        },
        .text("time-cond", "z", value: "time", help: "Fetch only if newer than this date or file; -DATE: if older") {
            $0.transfer.timeCondition = $1
        },
        .text("etag-save", value: "file", help: "Write the ETag of the response to this file") {
            $0.transfer.etagSave = $1
        }.path(),
        .text("etag-compare", value: "file", help: "Fetch only if the ETag differs from that in this file") {
            $0.transfer.etagCompare = $1
        }.path(),
        .text("limit-rate", value: "speed", help: "Maximum speed in bytes per second, such as 200K or 2.5M") {
            $0.transfer.limitRate = $1
        },
        .text("max-filesize", value: "bytes", help: "Refuse bodies that are larger, such as 10M") {
            $0.transfer.maxFileSize = $1
        },
        .number("speed-limit", "Y", value: "speed", help: "Stop a transfer slower than this, in bytes per second") {
            $0.transfer.speedLimit = $1
        },
        .number("speed-time", "y", value: "sec", help: "Time for -Y in seconds (default: 30)") {
            $0.transfer.speedTime = $1
        },
        .seconds("max-time", "m", help: "Maximum time for each try, in seconds") { $0.transfer.maxTime = $1 },
        .flag("raw", help: "Write the body undecoded, transfer coding included") { $0.transfer.raw = $1 },
        .flag("ignore-content-length", help: "Read the body until the connection closes") {
            $0.transfer.ignoresLength = $1
        },
        .number("retry", help: "Number of retries after transient errors (default: 0)") { $0.transfer.retry = $1 },
        .seconds("retry-delay", help: "Time to wait before each retry, in seconds (default: from 1, doubling)") {
            $0.transfer.retryDelay = $1
        },
        .seconds("retry-max-time", help: "Time after which no retry starts, in seconds") {
            $0.transfer.retryMaxTime = $1
        },
        .flag("retry-all-errors", help: "Retry after every error") { $0.transfer.retriesAllErrors = $1 },
        .flag("retry-connrefused", help: "Retry also if the connection is refused") {
            $0.transfer.retriesRefusals = $1
        },
    ]
}
