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
let package = Package(
    name: "beeline",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "CookieJar", targets: ["CookieJar"]),
        .library(name: "BeelineTesting", targets: ["BeelineTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    ],
    targets: [
        .target(name: "Names", swiftSettings: settings),
        .target(
            name: "CookieJar",
            dependencies: ["Names", .product(name: "NIOConcurrencyHelpers", package: nio)],
            swiftSettings: settings
        ),
        .target(
            name: "BeelineTesting",
            dependencies: [
                "Names",
                .product(name: "NIOConcurrencyHelpers", package: nio),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOTLS", package: nio),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "NamesTests", dependencies: ["Names"], swiftSettings: settings),
        .testTarget(name: "CookieJarTests", dependencies: ["CookieJar", "Names"], swiftSettings: settings),
        .testTarget(
            name: "BeelineTestingTests",
            dependencies: [
                "BeelineTesting", "Names", .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: nio), .product(name: "NIOEmbedded", package: nio),
            ],
            swiftSettings: settings
        ),
    ]
)
