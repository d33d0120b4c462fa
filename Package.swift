// swift-tools-version:6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Scripts/test sets this, and makes warnings errors by it. Users of the package do not get these errors.
let isCheck = Context.environment["BEELINE_CHECK"] != nil

/// The settings of every target; docs/ARCHITECTURE.md says why each is on.
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (isCheck ? [.unsafeFlags(["-warnings-as-errors"])] : [])

/// For targets that read bytes from outside: code that the compiler cannot check is marked `unsafe` there.
let strictSettings = settings + [.strictMemorySafety()]

func nio(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-nio") }
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(
    name: "AsyncHTTPClient",
    package: "async-http-client",
    condition: .when(traits: ["AsyncHTTPClient"])
)
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
/// The C functions of SQLite that GRDB does not wrap.
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let serviceLifecycle = Target.Dependency.product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle",
    condition: .when(traits: ["ServiceLifecycle"])
)
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")

/// What `beeline --version -v` prints. Scripts/lib/build-release sets it.
let buildInfo = Context.environment["BEELINE_BUILD"].map { [CSetting.define("BEELINE_BUILD", to: "\"\($0)\"")] } ?? []

/// Where WebKit is; elsewhere BeelineWebView does without Foundation's cookies.
let webKitPlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .visionOS]

let package = Package(
    name: "beeline",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "Beeline", targets: ["Beeline"]),
        .library(name: "CookieJar", targets: ["CookieJar"]),
        .library(name: "DirectHTTP", targets: ["DirectHTTP"]),
        .library(name: "HTTPDNS", targets: ["HTTPDNS"]),
        .library(name: "BeelineStore", targets: ["BeelineStore"]),
        .library(name: "BeelineServer", targets: ["BeelineServer"]),
        .library(name: "BeelineProxy", targets: ["BeelineProxy"]),
        .library(name: "BeelineRedis", targets: ["BeelineRedis"]),
        .library(name: "BeelineURLSession", targets: ["BeelineURLSession"]),
        .library(name: "BeelineWebView", targets: ["BeelineWebView"]),
        .library(name: "BeelineAsyncHTTPClient", targets: ["BeelineAsyncHTTPClient"]),
        .library(name: "BeelineWebDriver", targets: ["BeelineWebDriver"]),
        .library(name: "BeelineService", targets: ["BeelineService"]),
        .library(name: "BeelineTesting", targets: ["BeelineTesting"]),
        .executable(name: "beeline", targets: ["BeelineCommand"]),
    ],
    traits: [
        .trait(name: "AsyncHTTPClient", description: "BeelineAsyncHTTPClient, which needs async-http-client"),
        .trait(name: "Redis", description: "BeelineRedis, which needs the library hiredis, and beeline serve --redis"),
        .trait(name: "Brotli", description: "Content-Encoding: br in the client, which needs the library libbrotlidec"),
        .trait(name: "Zstandard", description: "Content-Encoding: zstd in the client, which needs the library libzstd"),
        .trait(name: "ServiceLifecycle", description: "BeelineService, which needs swift-service-lifecycle"),
        .default(
            enabledTraits: isCheck ? ["AsyncHTTPClient", "Redis", "Brotli", "Zstandard", "ServiceLifecycle"] : []
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "LibC", swiftSettings: settings),
        .target(name: "Names", dependencies: ["LibC"], swiftSettings: strictSettings),
        .target(
            name: "CookieJar",
            dependencies: ["Names", nio("NIOConcurrencyHelpers")],
            swiftSettings: strictSettings
        ),
        .target(
            name: "HTTPWire",
            dependencies: ["LibC", "Names", nio("NIOCore"), httpTypes, deque],
            swiftSettings: settings
        ),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CBrotli",
            pkgConfig: "libbrotlidec",
            providers: [.apt(["libbrotli-dev"]), .brew(["brotli"])]
        ),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        .target(name: "CTLSInternals"),
        .target(name: "CBuildInfo", cSettings: buildInfo),
        .target(
            name: "TLSInternals",
            dependencies: ["CTLSInternals", nio("NIOConcurrencyHelpers"), nioSSL],
            swiftSettings: settings
        ),
        .target(
            name: "DirectHTTP",
            dependencies: [
                "LibC", "Names", "HTTPWire", "TLSInternals", "CZlib",
                .target(name: "CBrotli", condition: .when(traits: ["Brotli"])),
                .target(name: "CZstd", condition: .when(traits: ["Zstandard"])),
                nio("NIOCore"), nio("NIOPosix"), nio("NIOConcurrencyHelpers"), nio("NIOTLS"), nioSSL, httpTypes, deque,
                crypto,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNS",
            dependencies: [
                "LibC", "Names", "DirectHTTP", nio("NIOCore"), nio("NIOPosix"), nio("NIOConcurrencyHelpers"),
                nio("NIOTLS"),
                nioSSL, httpTypes, crypto, .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: strictSettings
        ),
        .target(
            name: "Beeline",
            dependencies: [
                "LibC", "Names", "CookieJar", "DirectHTTP", "HTTPDNS", nio("NIOCore"), nio("NIOPosix"),
                nio("NIOConcurrencyHelpers"), httpTypes, crypto, logging, metrics, tracing,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineProxy",
            dependencies: [
                "Names", "HTTPWire", "DirectHTTP", "HTTPDNS", "Beeline", nio("NIOConcurrencyHelpers"),
                nio("NIOCore"), nio("NIOPosix"), httpTypes,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineURLSession",
            dependencies: [
                "LibC", "Names", "CookieJar", "HTTPDNS", "Beeline", "BeelineProxy", nio("NIOConcurrencyHelpers"),
                nio("NIOCore"), httpTypes,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineWebView",
            dependencies: [
                "Names", "CookieJar", "BeelineProxy", nio("NIOConcurrencyHelpers"),
                .target(name: "BeelineURLSession", condition: .when(platforms: webKitPlatforms)),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineAsyncHTTPClient",
            dependencies: [
                "HTTPWire", "DirectHTTP", "Beeline", nio("NIOCore"), nio("NIOHTTP1"), httpTypes, asyncHTTPClient,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineWebDriver",
            dependencies: [
                "LibC", "Names", "CookieJar", "DirectHTTP", "HTTPDNS", "Beeline", "BeelineWebView",
                nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOPosix"), httpTypes,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineStore",
            dependencies: [
                "LibC", "Names", "CookieJar", "DirectHTTP", "HTTPDNS", nio("NIOConcurrencyHelpers"), grdb, sqlite,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineServer",
            dependencies: [
                "LibC", "Names", "HTTPWire", "DirectHTTP", "HTTPDNS", nio("NIOConcurrencyHelpers"), nio("NIOCore"),
                nio("NIOPosix"), nio("NIOHTTP1"), nio("NIOTLS"), nioSSL, httpTypes, tracing,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineService",
            dependencies: ["Names", "HTTPDNS", "Beeline", "BeelineProxy", "BeelineServer", serviceLifecycle],
            swiftSettings: settings
        ),
        .systemLibrary(
            name: "CHiredis",
            providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]
        ),
        .target(
            name: "BeelineRedis",
            dependencies: [
                "LibC", "Names", "CookieJar", "HTTPDNS", .target(name: "CHiredis", condition: .when(traits: ["Redis"])),
                nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOPosix"), nio("NIOTLS"), nioSSL, crypto,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineTesting",
            dependencies: [
                "LibC", "Names", "TLSInternals", "HTTPDNS", nio("NIOConcurrencyHelpers"), nio("NIOCore"),
                nio("NIOPosix"),
                nio("NIOTLS"), nioHTTP2, nioHPACK, nioSSL, httpTypes, crypto,
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "BeelineCommand",
            dependencies: [
                "LibC", "Names", "CookieJar", "HTTPWire", "DirectHTTP", "Beeline", "BeelineProxy", "BeelineRedis",
                "BeelineServer",
                "BeelineStore", "BeelineTesting", "BeelineWebDriver", "BeelineWebView", "CBuildInfo", nio("NIOCore"),
                nio("NIOPosix"),
                nio("NIOConcurrencyHelpers"), nioSSL, httpTypes, argumentParser,
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "NamesTests", dependencies: ["Names"], swiftSettings: settings),
        .testTarget(
            name: "CookieJarTests",
            dependencies: ["CookieJar", "Names", nio("NIOConcurrencyHelpers")],
            swiftSettings: settings
        ),
        .target(
            name: "DaemonSupport",
            dependencies: ["BeelineTesting", nio("NIOCore"), nio("NIOPosix")],
            path: "Tests/DaemonSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "DirectHTTPTests",
            dependencies: [
                "LibC", "DirectHTTP", "HTTPWire", "TLSInternals", "Names", "BeelineTesting", "DaemonSupport",
                nio("NIOConcurrencyHelpers"),
                nio("NIOCore"), nio("NIOEmbedded"), nio("NIOPosix"), nioHPACK, nioSSL, httpTypes,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSTests",
            dependencies: [
                "HTTPDNS", "Names", "DirectHTTP", "BeelineTesting", "DaemonSupport", nio("NIOConcurrencyHelpers"),
                nio("NIOCore"), nio("NIOEmbedded"), nio("NIOPosix"), httpTypes, crypto,
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineURLSessionTests",
            dependencies: [
                "BeelineURLSession", "Beeline", "BeelineProxy", "BeelineTesting", httpTypes, nio("NIOCore"),
                nio("NIOConcurrencyHelpers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineWebViewTests",
            dependencies: [
                "BeelineWebView", "Beeline", "BeelineTesting", "CookieJar", "Names", nio("NIOConcurrencyHelpers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineAsyncHTTPClientTests",
            dependencies: [
                "BeelineAsyncHTTPClient", "Beeline", "BeelineProxy", "BeelineTesting", nio("NIOCore"), nio("NIOHTTP1"),
                nioSSL, asyncHTTPClient,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineTests",
            dependencies: [
                "Names", "DirectHTTP", "Beeline", "BeelineTesting", nio("NIOConcurrencyHelpers"), nio("NIOCore"),
                logging, metrics, tracing,
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineProxyTests",
            dependencies: [
                "LibC", "BeelineProxy", "Beeline", "BeelineTesting", "HTTPWire", "DirectHTTP", "Names", "HTTPDNS",
                nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOEmbedded"), nio("NIOPosix"), httpTypes,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "BeelineCommand", "Beeline", "BeelineProxy", "BeelineServer", "BeelineTesting", "BeelineWebDriver",
                "DaemonSupport", "Names", argumentParser, grdb, nio("NIOConcurrencyHelpers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BrowserTests",
            dependencies: [
                "BeelineWebDriver", "BeelineWebView", "BeelineCommand", "Beeline", "BeelineProxy", "BeelineTesting",
                "CookieJar", "HTTPDNS", "Names", nio("NIOConcurrencyHelpers"), nio("NIOCore"), httpTypes, crypto,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GuideTests",
            dependencies: [
                "Beeline", "BeelineAsyncHTTPClient", "BeelineProxy", "BeelineRedis", "BeelineServer", "BeelineStore",
                "BeelineTesting", "BeelineURLSession", "BeelineWebDriver", "BeelineWebView", asyncHTTPClient,
                "BeelineService", "CookieJar", "DirectHTTP", "HTTPDNS", "Names", serviceLifecycle, httpTypes,
                nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"), logging, metrics, tracing,
            ],
            // The guides are for other packages, which see only public names.
            packageAccess: false,
            swiftSettings: settings
        ),
        .executableTarget(
            name: "StoreCrashWriter",
            dependencies: ["LibC", "BeelineStore", "CookieJar", "Names"],
            path: "Tests/StoreCrashWriter",
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineStoreTests",
            dependencies: [
                "BeelineStore", "StoreCrashWriter", "CookieJar", "DirectHTTP", "HTTPDNS", "Names", "BeelineTesting",
                grdb,
                nio("NIOConcurrencyHelpers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineServerTests",
            dependencies: [
                "BeelineServer", "BeelineTesting", "DirectHTTP", "HTTPDNS", "HTTPWire", "Names", httpTypes,
                nio("NIOCore"),
                nio("NIOConcurrencyHelpers"), nio("NIOEmbedded"), nio("NIOHTTP1"), nio("NIOPosix"), tracing,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineServiceTests",
            dependencies: [
                "BeelineService", "Beeline", "BeelineProxy", "BeelineServer", "BeelineTesting", "HTTPDNS", "Names",
                nio("NIOConcurrencyHelpers"), logging, serviceLifecycle,
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "RedisJarWriter",
            dependencies: ["LibC", "Beeline", "BeelineRedis", "CookieJar", "Names"],
            path: "Tests/RedisJarWriter",
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineRedisTests",
            dependencies: [
                "BeelineRedis", "BeelineServer", "BeelineTesting", "CookieJar", "HTTPDNS", "Names", "RedisJarWriter",
                httpTypes, nio("NIOConcurrencyHelpers"), nio("NIOPosix"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BeelineTestingTests",
            dependencies: ["LibC", "BeelineTesting", "Names", httpTypes, nio("NIOCore"), nio("NIOEmbedded")],
            swiftSettings: settings
        ),
    ]
)

// Benchmarks are for those who work on the package, not for those who build it.
if isCheck || Context.environment["BEELINE_BENCHMARKS"] == "1" {
    package.products += [
        .executable(name: "beeline-bench", targets: ["BeelineBench"]),
        .executable(name: "beeline-session-bench", targets: ["SessionBench"]),
    ]
    package.targets += [
        .target(
            name: "BenchSupport",
            dependencies: ["LibC"],
            path: "Benchmarks/BenchSupport",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "BeelineBench",
            dependencies: [
                "LibC", "BenchSupport", "Names", "CookieJar", "DirectHTTP", "HTTPDNS", "Beeline", nio("NIOCore"),
                nio("NIOPosix"),
            ],
            path: "Benchmarks/BeelineBench",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "SessionBench",
            dependencies: ["BenchSupport", "Beeline", "BeelineTesting", "BeelineURLSession", nio("NIOCore")],
            path: "Benchmarks/SessionBench",
            swiftSettings: settings
        ),
    ]
}

// The code of the examples. As targets of this package they share its build; their own packages would build all
// dependencies again. On macOS, Hummingbird needs a later version than this package.
#if os(Linux)
if isCheck {
    package.dependencies.append(.package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"))
    package.targets.append(
        .executableTarget(
            name: "Weather",
            dependencies: ["Beeline", "BeelineService", .product(name: "Hummingbird", package: "hummingbird")],
            path: "Examples/HummingbirdWeather/Sources/Weather",
            packageAccess: false,
            swiftSettings: [.unsafeFlags(["-warnings-as-errors"])]
        )
    )
}
#endif

// Adds `swift package generate-documentation`. Without the condition, a first build would also build the plugin's tools.
if Context.environment["BEELINE_DOCS"] == "1" {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// Scripts/fuzz sets this: a program that hands libFuzzer's inputs to every decoder. `fast` is without the address sanitizer.
if let fuzzer = Context.environment["BEELINE_FUZZER"] {
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzzers/CLibFuzzer"),
        .executableTarget(
            name: "beeline-fuzz",
            dependencies: [
                "CLibFuzzer", "Names", "CookieJar", "HTTPWire", "DirectHTTP", "HTTPDNS", "Beeline", "BeelineProxy",
                "BeelineRedis", "BeelineServer", "BeelineStore", "BeelineTesting", "BeelineWebDriver", grdb,
                nio("NIOCore"), nio("NIOEmbedded"),
            ],
            path: "Tests/Fuzzers",
            exclude: ["CLibFuzzer"],
            swiftSettings: settings
        ),
    ]
    // Edges are counted in the targets with decoders only: libFuzzer reads all counters after each input.
    // The compiler counts them only for a sanitizer; this one would turn the address sanitizer off.
    let sanitizer = fuzzer == "fast" ? ["-sanitize=fuzzer"] : []
    let coverage = sanitizer + ["-sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp"]
    let fuzzed: Set = [
        "Names", "CookieJar", "HTTPWire", "DirectHTTP", "HTTPDNS", "Beeline", "BeelineProxy", "BeelineRedis",
        "BeelineServer", "BeelineStore", "BeelineWebDriver", "beeline-fuzz",
    ]
    for target in package.targets where fuzzed.contains(target.name) {
        target.swiftSettings?.append(.unsafeFlags(coverage.flatMap { ["-Xfrontend", $0] }))
    }
}

// What the linkage check of Scripts/test looks at: programs of one import each, which must not bring full Foundation.
if isCheck {
    for library in ["CookieJar", "DirectHTTP", "HTTPDNS", "Beeline"] {
        package.targets.append(
            .executableTarget(
                name: "\(library)LinkageProbe",
                dependencies: [.byName(name: library)],
                path: "Scripts/lib/probes/\(library)",
                swiftSettings: settings
            )
        )
    }
}
