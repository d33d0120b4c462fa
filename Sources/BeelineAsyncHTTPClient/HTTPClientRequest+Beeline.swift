// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
import AsyncHTTPClient
import Beeline
import DirectHTTP
import HTTPTypes
import NIOCore
import NIOHTTP1

extension HTTPClientRequest {
    /// Method and fields. The fields that frame a message are not among them: the engine writes its own.
    func head() throws -> HTTPRequest {
        guard let method = HTTPRequest.Method(rawValue: method.rawValue) else {
            throw BeelineError(BeelineError.Code(.invalidRequest), "\(url): \"\(method.rawValue)\" is no method")
        }
        var head = HTTPRequest(method: method, scheme: nil, authority: nil, path: nil)
        for (name, value) in headers {
            switch name.lowercased() {
            case "content-length", "transfer-encoding", "connection": continue
            case "host": head.authority = value
            default:
                let value = String(value.trimmingBlanks())
                guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
                    throw BeelineError(
                        BeelineError.Code(.invalidRequest),
                        "\(url): the header \"\(name)\" cannot be sent as it is"
                    )
                }
                head.headerFields.append(HTTPField(name: name, value: value))
            }
        }
        return head
    }

    /// The body: bytes where it is in memory, else a stream that is read once, while it is sent.
    func clientBody() async throws -> RequestBody {
        guard let body else { return .none }
        let shape = BodyShape(body)
        if shape.isInMemory {
            var pieces = body.makeAsyncIterator()
            return .bytes(try await pieces.next() ?? ByteBuffer())
        }
        return .once(length: shape.length ?? headers.first(name: "content-length").flatMap { Int64($0) }, body)
    }
}

/// What AsyncHTTPClient knows of a body and does not tell: read by reflection.
///
/// To find it out by reading would mean to wait for pieces that may come only after the server has answered. Where the
/// insides (of AsyncHTTPClient 1.37) have moved, a body is a stream of unknown length, and the tests notice.
private struct BodyShape {
    var isInMemory = false
    var length: Int64?

    init(_ body: HTTPClientRequest.Body) {
        let mode = Mirror(reflecting: body).children.first { $0.label == "mode" }
        guard let form = mode.flatMap({ Mirror(reflecting: $0.value).children.first }) else { return }
        isInMemory = form.label == "byteBuffer" || form.label == "sequence"
        let length = Mirror(reflecting: form.value).children.first { $0.label == "length" }
        self.length = length.flatMap { Mirror(reflecting: $0.value).children.first?.value as? Int64 }
    }
}
#endif
