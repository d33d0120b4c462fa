// SPDX-License-Identifier: Apache-2.0

/// Stands between the caller and the client: request in, response out. For signing, logging, caching, rewriting.
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
/// An interceptor is called once for each call of the client, not for each hop: redirects, the answers to challenges, retries
/// and hedges happen below it, and cookies are added there. What the hops did stands in ``Response/hops``. Those of
/// ``ClientConfiguration/interceptors`` are called in their order: the first one sees the caller's request and the final
/// response.
///
/// Opening a WebSocket is a call like any other: a response of 101 is the one that opened it, and one that an interceptor makes
/// itself opens none.
///
/// It may call `next` several times, one after the other, to try again, at most ``InterceptorNext/maximumCalls`` times for
/// a call; or not at all, and answer by itself with ``Response/init(answering:status:fields:body:)``. The time limit of the
/// whole request begins before the first interceptor and holds for what `next` does. One interceptor serves many calls at
/// the same time.
public protocol Interceptor: Sendable {
    /// Carries a request out, by `next` or otherwise.
    ///
    /// - Parameters:
    ///   - request: what the caller, or the interceptor before, asks for.
    ///   - next: the rest of the way.
    /// - Throws: what the caller shall see: a ``BeelineError`` as it is, `CancellationError` as `cancelled`, anything else as
    ///   the `underlyingError` of an `interceptorFailed`.
    func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response
}

/// The rest of a request's way, as an ``Interceptor`` sees it.
public struct InterceptorNext: Sendable {
    /// How often one call may go all the way to the network. Default 32; once more is an error (`interceptorFailed`).
    public static let maximumCalls = 32

    private let body: @Sendable (ClientRequest) async throws(BeelineError) -> Response

    init(_ body: @escaping @Sendable (ClientRequest) async throws(BeelineError) -> Response) { self.body = body }

    /// Sends the request on.
    ///
    /// - Throws: ``BeelineError``.
    public func callAsFunction(_ request: ClientRequest) async throws(BeelineError) -> Response {
        try await body(request)
    }
}
