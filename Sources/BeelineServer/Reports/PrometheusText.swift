// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// Writes metrics in the text format of Prometheus, version 0.0.4.
struct PrometheusText {
    /// The labels of a sample, in the order in which they are written.
    typealias Labels = [(name: String, value: String)]

    private(set) var text = ""

    mutating func counter(_ name: String, _ value: Int, help: String) {
        write(name, type: "counter", help: help, samples: [([], value)])
    }

    mutating func gauge(_ name: String, _ value: Int, help: String) {
        write(name, type: "gauge", help: help, samples: [([], value)])
    }

    /// Writes a metric. Without samples, nothing is written.
    mutating func write(_ name: String, type: String, help: String, samples: [(labels: Labels, value: Int)]) {
        guard !samples.isEmpty else { return }
        begin(name, type: type, help: help)
        for (labels, value) in samples { sample(name, labels, value: "\(value)") }
    }

    mutating func histograms(
        _ name: String,
        help: String,
        samples histograms: [(labels: Labels, value: DurationHistogram)]
    ) {
        guard !histograms.isEmpty else { return }
        begin(name, type: "histogram", help: help)
        for (labels, histogram) in histograms {
            // Each bucket includes the smaller ones.
            var sum = 0
            for (bound, count) in zip(DurationHistogram.bounds, histogram.buckets) {
                sum += count
                sample(name + "_bucket", labels + [("le", "\(bound)")], value: "\(sum)")
            }
            sample(name + "_bucket", labels + [("le", "+Inf")], value: "\(histogram.count)")
            sample(name + "_sum", labels, value: "\(histogram.seconds)")
            sample(name + "_count", labels, value: "\(histogram.count)")
        }
    }

    private mutating func begin(_ name: String, type: String, help: String) {
        text += "# HELP beeline_\(name) \(Self.escaped(help, quotes: false))\n# TYPE beeline_\(name) \(type)\n"
    }

    private mutating func sample(_ name: String, _ labels: Labels, value: String) {
        let pairs = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
        text += "beeline_\(name)\(pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") \(value)\n"
    }

    /// Escapes backslashes and line feeds, and in values of labels also quotation marks.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
