// SPDX-License-Identifier: Apache-2.0

import Beeline
import CoreMetrics
import Logging
import NIOCore
import NIOPosix
import Tracing

// The code of the guides to uploads, downloads, retries, credentials, interceptors and observability, compiled.

struct Person: Codable {
    var name: String
}

func bodies(_ client: BeelineClient) async throws {
    let form = RequestBody.form(["user": "ada", "password": "secret"])
    try await client.post("https://api.example.com/people", json: Person(name: "Ada")).body.discard()
    try await client.post("https://api.example.com/login", body: form).body.discard()
    try await client.put("https://api.example.com/photo", body: .file("/tmp/photo.jpg")).body.discard()
    try await client.patch("https://api.example.com/note", body: .bytes("new text".utf8)).body.discard()
}

func decoding(_ response: Response) async throws {
    let person = try await response.decode(Person.self, upTo: 1 << 20)
    print(person)
}

func multipart(_ client: BeelineClient) async throws {
    var form = MultipartForm()
    form.add("title", "Sunset")
    form.add("photo", file: "/tmp/photo.jpg")
    let response = try await client.post("https://api.example.com/photos", body: form.body)
    print(response.status)
}

func streams(_ readings: @escaping @Sendable () -> AsyncStream<ByteBuffer>) {
    let known = RequestBody.stream(length: 5_000_000) { readings() }  // the closure runs for each attempt
    let unknown = RequestBody.stream(length: nil) { readings() }  // chunked
    let once = RequestBody.once(length: nil, readings())  // can be read only once
    print(known.isReplayable, unknown.isReplayable, once.isReplayable)
}

func uploadProgress() {
    let body = RequestBody.file("/tmp/video.mp4").onProgress { progress in
        print(progress.transferred, progress.total ?? 0, progress.fraction ?? 0)
    }
    print(body.isReplayable)
}

func expecting(_ client: BeelineClient) async throws {
    var options = RequestOptions()
    options.expectContinue = .seconds(1)
    let response = try await client.put("https://api.example.com/large", body: .file("/tmp/large"), options: options)
    print(response.status)
}

func download(_ client: BeelineClient) async throws {
    var options = DownloadOptions()
    options.progress = { print($0.transferred, $0.total ?? 0) }
    let download = try await client.download("https://example.com/disk.img", to: "/tmp/disk.img", options: options)
    print(download.size, download.resumedFrom, download.resumes)
}

func streaming(_ client: BeelineClient) async throws {
    let response = try await client.get("https://example.com/feed")
    for try await piece in response.body { print(piece.readableBytes) }
}

func retrying() -> ClientConfiguration {
    var configuration = ClientConfiguration()
    configuration.retry = .standard
    configuration.retry.tries = 5
    configuration.limits.total = .seconds(20)
    return configuration
}

func retryingPost(_ client: BeelineClient, _ orderID: String) async throws {
    var fields = HTTPFields()
    if let name = HTTPField.Name("Idempotency-Key") { fields[name] = orderID }  // the service detects repetitions by it
    var options = RequestOptions()
    options.retry = .standard
    options.retry?.methods.insert(.post)
    let response = try await client.post(
        "https://api.example.com/orders",
        fields: fields,
        body: .form(["item": "42"]),
        options: options
    )
    print(response.tries)
}

func oneLimit(_ client: BeelineClient) async throws {
    var options = RequestOptions()
    options.limits = client.configuration.limits
    options.limits?.total = .seconds(5)
    let response = try await client.get("https://api.example.com/status", options: options)
    print(response.status)
}

func hedging(_ client: BeelineClient) async throws {
    var options = RequestOptions()
    options.hedge = HedgePolicy(delay: .milliseconds(150))
    let response = try await client.get("https://api.example.com/search?q=bees", options: options)
    print(response.status)
}

func credentials(_ token: String, _ password: String) throws {
    var configuration = ClientConfiguration()
    let api = Origin(scheme: .https, host: try Host("api.example.com"))
    configuration.credentials[api] = .bearer(token)

    var options = RequestOptions()
    options.credentials = .digest(user: "ada", password: password)
    print(configuration.credentials.count)

    options.credentialsFollowRedirects = true
}

struct SigningKey: Sendable {
    func sign(method: String, target: String, body: ByteBuffer) -> String {
        "\(method)\(target)\(body.readableBytes)"
    }
}

struct Signing: Interceptor {
    let key: SigningKey

    func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
        guard let body = request.body.bytesInMemory else { return try await next(request) }
        var request = request
        request.fields[.authorization] = key.sign(
            method: request.method.rawValue,
            target: request.url.target,
            body: body
        )
        return try await next(request)
    }
}

struct Timing: Interceptor {
    func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request)
        print(request.method, request.url, response.status, start.duration(to: .now))
        return response
    }
}

func intercepting(_ key: SigningKey) -> ClientConfiguration {
    var configuration = ClientConfiguration()
    configuration.interceptors = [Timing(), Signing(key: key)]
    return configuration
}

func observing() -> ClientConfiguration {
    var configuration = ClientConfiguration()
    configuration.observability.logger = Logger(label: "http")
    configuration.observability.metrics = MetricsSystem.factory
    configuration.observability.tracer = InstrumentationSystem.tracer
    return configuration
}

func timings(_ client: BeelineClient) async throws {
    let response = try await client.get("https://www.example.com/")
    _ = try await response.collect(upTo: 1 << 20)
    let timings = response.timings  // nil for steps that a reused connection skips
    print(timings.resolve ?? .zero, timings.connect ?? .zero, timings.handshake ?? .zero, timings.firstByte)
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
func onTheLoop(_ client: BeelineClient, _ paths: [String]) async throws {
    let origin = try HTTPURL("https://api.example.com/").origin
    try await withTaskExecutorPreference(client.executor(for: origin)) {
        for path in paths {
            let response = try await client.get("\(origin)\(path)")
            print(response.status, try await response.collect(upTo: 1 << 20).readableBytes)
        }
    }
}

func allTasksOnTheLoops() {
    NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
}

func windows(_ configuration: inout ClientConfiguration) {
    configuration.engine.bufferedBodyBytes = 2 << 20
}
