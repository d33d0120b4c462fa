// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension BeelineClient {
    /// Posts a value as JSON.
    ///
    /// - Throws: ``BeelineError``; `encodingFailed` where the value cannot be written as JSON.
    public func post(
        _ url: String,
        json value: some Encodable,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.post, url, fields: fields, body: .json(value), options: options)
    }

    /// Puts a value as JSON.
    ///
    /// - Throws: ``BeelineError``; `encodingFailed` where the value cannot be written as JSON.
    public func put(
        _ url: String,
        json value: some Encodable,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.put, url, fields: fields, body: .json(value), options: options)
    }

    /// Patches with a value as JSON.
    ///
    /// - Throws: ``BeelineError``; `encodingFailed` where the value cannot be written as JSON.
    public func patch(
        _ url: String,
        json value: some Encodable,
        fields: HTTPFields = [:],
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(.patch, url, fields: fields, body: .json(value), options: options)
    }
}
