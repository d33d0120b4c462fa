// SPDX-License-Identifier: Apache-2.0

/// Wraps every call of the client: it receives the request and returns the response. Use it to sign, log, cache or rewrite.
///
/// ```swift
/// struct Signing: Interceptor {
///     func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
///         var request = request
///         request.fields[.authorization] = sign(request)
///         return try await next(request)
///     }
/// }
/// ```
///
/// An interceptor runs once for each call of the client, not for each hop. Redirects, answers to challenges, retries
/// and hedged requests happen after it, and the client adds cookies there. ``Response/hops`` lists the hops. The client
/// calls ``ClientConfiguration/interceptors`` in order: the first interceptor sees the request of the caller and the
/// final response.
///
/// Opening a WebSocket is a call like any other. A response with status 101 from `next` carries the WebSocket; a response that
/// an interceptor creates does not.
///
/// An interceptor may call `next` several times in sequence. The interceptors of one call may send at most 32 requests
/// together. An interceptor may also answer without `next`, with
/// ``Response/init(answering:status:fields:body:receivedAt:)``. The time limit of the whole call starts before the first
/// interceptor and applies to `next`. One interceptor serves many calls at the same time.
public protocol Interceptor: Sendable {
    /// Performs a request, with `next` or without.
    ///
    /// - Parameters:
    ///   - request: The request of the caller or of the previous interceptor.
    ///   - next: The rest of the chain.
    /// - Throws: The error for the caller: a ``BeelineError`` stays as it is, `CancellationError` becomes `cancelled`, any
    ///   other error becomes the `underlyingError` of `interceptorFailed`.
    func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response
}

/// The rest of the chain after an ``Interceptor``.
public struct InterceptorNext: Sendable {
    /// How often the interceptors of one call may send a request to the network. Default 32; one more throws
    /// `interceptorFailed`.
    package static let maxCalls = 32

    private let body: @Sendable (ClientRequest) async throws(BeelineError) -> Response

    init(_ body: @escaping @Sendable (ClientRequest) async throws(BeelineError) -> Response) { self.body = body }

    /// Passes the request to the next interceptor, or sends it.
    ///
    /// - Throws: ``BeelineError``; `interceptorFailed` if the interceptors of one call send more than 32 requests
    ///   together.
    public func callAsFunction(_ request: ClientRequest) async throws(BeelineError) -> Response {
        try await body(request)
    }
}
