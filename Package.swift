// swift-tools-version:6.1
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// The settings of every target; docs/ARCHITECTURE.md says why each is on.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let nio = "swift-nio"
let nioCore = Target.Dependency.product(name: "NIOCore", package: nio)
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: nio)
let nioLocks = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: nio)
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: nio)
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")

let package = Package(
    name: "beeline",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "CookieJar", targets: ["CookieJar"]),
        .library(name: "DirectHTTP", targets: ["DirectHTTP"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    ],
    targets: [
        .target(name: "Names", swiftSettings: settings),
        .target(name: "CookieJar", dependencies: ["Names", nioLocks], swiftSettings: settings),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "DirectHTTP",
            dependencies: ["Names", "CZlib", nioCore, nioPosix, nioLocks, nioTLS, nioSSL, httpTypes, deque],
            swiftSettings: settings
        ),
        .testTarget(name: "NamesTests", dependencies: ["Names"], swiftSettings: settings),
        .testTarget(name: "CookieJarTests", dependencies: ["CookieJar", "Names"], swiftSettings: settings),
        .testTarget(name: "DirectHTTPTests", dependencies: ["DirectHTTP", "Names"], swiftSettings: settings),
    ]
)
