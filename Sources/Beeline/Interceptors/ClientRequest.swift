// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes
public import Names

/// A request as the caller made it, before the client adds anything: what an ``Interceptor`` sees and may change.
public struct ClientRequest: Sendable {
    /// Method and fields. Its `authority`, or a `Host` among the fields, is sent as the Host header where it is not the URL's, and
    /// changes nothing else.
    public var head: HTTPRequest
    /// What is asked for.
    public var url: HTTPURL
    /// The body.
    public var body: RequestBody
    /// What this request does otherwise than configured.
    public var options: RequestOptions

    /// A request of parts.
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

    /// The fields that the caller set.
    public var fields: HTTPFields {
        get { head.headerFields }
        set { head.headerFields = newValue }
    }
}
