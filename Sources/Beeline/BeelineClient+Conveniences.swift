// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes
public import Names

extension BeelineClient {
    /// Sends a request that carries its own scheme, authority and path.
    ///
    /// The three are checked each on its own, so that a path cannot change the host. The authority has no `user:password@`.
    /// The path is empty or begins with `/`, and has no fragment.
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if the three do not form a valid URL.
    public func send(
        _ request: HTTPRequest,
        body: RequestBody = .none,
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        let url: HTTPURL
        do {
            url = try HTTPURL(
                scheme: request.scheme ?? "https",
                authority: request.authority ?? "",
                path: request.path ?? "/"
            )
        } catch {
            throw BeelineError(error)
        }
        // The URL has the canonical form. A different spelling would count as another Host.
        var request = request
        request.authority = nil
        return try await send(request, to: url, body: body, options: options)
    }

    /// Sends a GET request.
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func get(
        _ url: String,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.get, url, fields: fields, options: options)
    }

    /// Sends a HEAD request (RFC 9110 §9.3.2).
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func head(
        _ url: String,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.head, url, fields: fields, options: options)
    }

    /// Sends a POST request with a body. The server may answer before it has read the body; read or discard the response's
    /// body, because dropping the response ends the upload.
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func post(
        _ url: String,
        fields: HTTPFields = [:],
        body: RequestBody,
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.post, url, fields: fields, body: body, options: options)
    }

    /// Sends a PUT request with a body. The server may answer before it has read the body; read or discard the response's
    /// body, because dropping the response ends the upload.
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func put(
        _ url: String,
        fields: HTTPFields = [:],
        body: RequestBody,
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.put, url, fields: fields, body: body, options: options)
    }

    /// Sends a PATCH request with a body. The server may answer before it has read the body; read or discard the response's
    /// body, because dropping the response ends the upload.
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func patch(
        _ url: String,
        fields: HTTPFields = [:],
        body: RequestBody,
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.patch, url, fields: fields, body: body, options: options)
    }

    /// Sends a DELETE request.
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func delete(
        _ url: String,
        fields: HTTPFields = [:],
        body: RequestBody = .none,
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.delete, url, fields: fields, body: body, options: options)
    }

    /// Sends a request with any method.
    ///
    /// - Throws: ``BeelineError``; `malformedURL` or `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func send(
        _ method: HTTPRequest.Method,
        _ url: String,
        fields: HTTPFields = [:],
        body: RequestBody = .none,
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(try Self.request(method, url: url, fields: fields, body: body, options: options))
    }

    @inline(never)
    private static func request(
        _ method: HTTPRequest.Method,
        url: String,
        fields: HTTPFields,
        body: RequestBody,
        options: RequestOptions
    ) throws(BeelineError) -> ClientRequest {
        let head = HTTPRequest(method: method, scheme: nil, authority: nil, path: nil, headerFields: fields)
        return ClientRequest(head, to: try parse(url), body: body, options: options)
    }

    static func parse(_ url: String) throws(BeelineError) -> HTTPURL {
        do {
            return try HTTPURL(url)
        } catch {
            throw BeelineError(error)
        }
    }
}

extension BeelineError {
    /// Creates the error for an invalid or unsupported URL.
    public init(_ error: NameError) {
        self.init(error.code == .unsupportedScheme ? .unsupportedScheme : .malformedURL, error.message)
    }
}
