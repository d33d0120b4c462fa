// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes
public import Names

/// A request of the caller, before the client adds anything. An ``Interceptor`` can read and change it.
public struct ClientRequest: Sendable {
    /// Method and fields. If its `authority`, or a `Host` field, differs from that of the URL, it is sent as the Host header
    /// and has no other effect.
    public var head: HTTPRequest
    /// The URL.
    public var url: HTTPURL
    /// The body.
    public var body: RequestBody
    /// Settings of this request that override the configuration.
    public var options: RequestOptions

    /// Creates a request from its parts.
    public init(
        _ head: HTTPRequest,
        to url: HTTPURL,
        body: RequestBody = .none,
        options: RequestOptions = RequestOptions()
    ) {
        self.head = head
        self.url = url
        self.body = body
        self.options = options
    }

    /// The method.
    public var method: HTTPRequest.Method {
        get { head.method }
        set { head.method = newValue }
    }

    /// The header fields that the caller set.
    public var fields: HTTPFields {
        get { head.headerFields }
        set { head.headerFields = newValue }
    }
}
