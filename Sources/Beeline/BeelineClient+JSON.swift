// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension BeelineClient {
    /// Sends a POST request with a JSON body.
    ///
    /// - Throws: ``BeelineError``; `encodingFailed` if the value cannot be encoded as JSON, `malformedURL` or
    ///   `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func post(
        _ url: String,
        json value: some Encodable,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.post, url, fields: fields, body: .json(value), options: options)
    }

    /// Sends a PUT request with a JSON body.
    ///
    /// - Throws: ``BeelineError``; `encodingFailed` if the value cannot be encoded as JSON, `malformedURL` or
    ///   `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func put(
        _ url: String,
        json value: some Encodable,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.put, url, fields: fields, body: .json(value), options: options)
    }

    /// Sends a PATCH request with a JSON body.
    ///
    /// - Throws: ``BeelineError``; `encodingFailed` if the value cannot be encoded as JSON, `malformedURL` or
    ///   `unsupportedScheme` if `url` is not a valid HTTP URL.
    public func patch(
        _ url: String,
        json value: some Encodable,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.patch, url, fields: fields, body: .json(value), options: options)
    }
}
