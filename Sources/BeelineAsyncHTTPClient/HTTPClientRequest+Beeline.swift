// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
import AsyncHTTPClient
import Beeline
import DirectHTTP
import HTTPTypes
import HTTPWire
import NIOCore
import NIOHTTP1

extension HTTPClientRequest {
    /// The method and the header fields, without the fields that frame the message. The engine writes its own.
    func head() throws -> HTTPRequest {
        guard let method = HTTPRequest.Method(rawValue: method.rawValue) else {
            throw BeelineError(.invalidRequest, "\(url): \"\(method.rawValue)\" is not a method")
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
                        .invalidRequest,
                        "\(url): the header \"\(name)\" has a name or value that cannot be sent"
                    )
                }
                head.headerFields.append(HTTPField(name: name, value: value))
            }
        }
        return head
    }

    /// The body: bytes if it is in memory, otherwise a stream that is read once, during sending.
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

/// The kind and length of a body, which AsyncHTTPClient does not expose. Read by reflection.
///
/// Reading the body to find out could block, because pieces may arrive only after the server has answered. If the internals
/// differ from those of AsyncHTTPClient 1.37, the body counts as a stream of unknown length, and the tests fail.
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
