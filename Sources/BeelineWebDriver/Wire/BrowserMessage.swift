// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A message of a browser: an answer to a command, or an event. Only the requested members are decoded, because a
/// browser may send an event for each response.
struct BrowserMessage: Sendable {
    /// The id of the command that it answers; nil for an event.
    let id: Int?
    /// The name of an event.
    let method: String?
    private let octets: Data

    /// Parses a message; nil if it is not a JSON object.
    init?(_ text: String) {
        octets = Data(text.utf8)
        guard let head = try? JSONDecoder().decode(Head.self, from: octets) else { return nil }
        (id, method) = (head.id, head.method)
    }

    /// Decodes the parameters of an event; nil if they have another form.
    func parameters<Value: Decodable>(as type: Value.Type = Value.self) -> Value? {
        (try? JSONDecoder().decode(Parameters<Value>.self, from: octets))?.params
    }

    /// Decodes the result of a command.
    ///
    /// - Throws: ``WebDriverError``: `refused` with the browser's message, or if the result has another form; `ended` if the
    ///   tab does not exist.
    func result<Value: Decodable>(of command: String, as type: Value.Type = Value.self) throws(WebDriverError) -> Value
    {
        if let answer = try? JSONDecoder().decode(Answer<Value>.self, from: octets) { return answer.result }
        let error = try? JSONDecoder().decode(Failure.self, from: octets)
        guard let words = error?.words, !words.isEmpty else {
            throw WebDriverError(
                .refused,
                "\(command): the browser's answer has an unknown form; \(DriverCookie.remedy)"
            )
        }
        let line = words.joined(separator: ": ").split(whereSeparator: \.isNewline).first ?? "unknown error"
        throw WebDriverError(words.first == "no such frame" ? .ended : .refused, String(line))
    }

    private struct Head: Decodable {
        let id: Int?
        let method: String?

        private enum CodingKeys: CodingKey { case id, method }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try? members.decodeIfPresent(Int.self, forKey: .id)
            method = try? members.decodeIfPresent(String.self, forKey: .method)
        }
    }

    private struct Parameters<Value: Decodable>: Decodable { let params: Value }

    private struct Answer<Value: Decodable>: Decodable { let result: Value }

    /// BiDi has a name and a message, DevTools an object with a message.
    private struct Failure: Decodable {
        let error: JSONValue?
        let message: String?

        var words: [String] { [error?.string, error?["message"]?.string ?? message].compactMap(\.self) }
    }
}

/// Something that happened in a browser that may have changed its cookies.
enum BrowserHint: Hashable, Sendable {
    /// Cookies may have changed.
    case cookies
    /// A tab closes, and the browser may end with it.
    case closing
}
