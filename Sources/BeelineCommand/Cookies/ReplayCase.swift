// SPDX-License-Identifier: Apache-2.0

import Names

/// One input line of `beeline cookies replay`. Unknown fields are ignored.
struct ReplayCase: Decodable {
    /// One step of a case of kind `jar`.
    struct Step: Decodable {
        var op: String
        var url: String?
        var set_cookie: [String]?
        var set_cookie_b64: [String]?
        var now: Double?
        var api: String?
        var site: String?
        var method: String?
        var format: String?
        var text: String?
        var text_b64: String?
    }

    var id: ReplayID
    var kind: String?
    var now: Double?
    var steps: [Step]?
    var input: String?
    var domain: String?
}

/// The id of a case: a string or an integer, returned unchanged.
enum ReplayID: Codable {
    case text(String)
    case number(Int64)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        }
    }
}

/// One output line of `beeline cookies replay`.
enum ReplayAnswer: Encodable {
    /// The result of one step.
    enum StepResult: Encodable {
        case outcomes([String])
        case header([UInt8])
        case imported(Int, skipped: Int)
        case error(String)

        private enum Key: String, CodingKey {
            case outcomes, header, header_b64, imported, skipped, error
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            switch self {
            case .outcomes(let outcomes): try container.encode(outcomes, forKey: .outcomes)
            case .header(let octets):
                if let text = String(validUTF8: octets) {
                    try container.encode(text, forKey: .header)
                } else {
                    try container.encode(Base64.encode(octets), forKey: .header_b64)
                }
            case .imported(let imported, let skipped):
                try container.encode(imported, forKey: .imported)
                try container.encode(skipped, forKey: .skipped)
            case .error(let message): try container.encode(message, forKey: .error)
            }
        }
    }

    case results(ReplayID, [StepResult])
    case date(ReplayID, Int64?)
    case registrable(ReplayID, String?)
    case error(ReplayID?, String)

    private enum Key: String, CodingKey {
        case id, results, date, registrable, error
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .results(let id, let results):
            try container.encode(id, forKey: .id)
            try container.encode(results, forKey: .results)
        case .date(let id, let date):
            try container.encode(id, forKey: .id)
            try container.encode(date, forKey: .date)
        case .registrable(let id, let domain):
            try container.encode(id, forKey: .id)
            try container.encode(domain, forKey: .registrable)
        case .error(let id, let message):
            try container.encode(id, forKey: .id)
            try container.encode(message, forKey: .error)
        }
    }
}
