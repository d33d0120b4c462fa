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
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: nio)
let nioLocks = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: nio)
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
    name: "beeline",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "CookieJar", targets: ["CookieJar"]),
        .library(name: "HTTPDNS", targets: ["HTTPDNS"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .target(name: "Names", swiftSettings: settings),
        .target(name: "CookieJar", dependencies: ["Names", nioLocks], swiftSettings: settings),
        .target(name: "HTTPDNS", dependencies: ["Names", nioPosix, nioLocks, httpTypes], swiftSettings: settings),
        .testTarget(name: "NamesTests", dependencies: ["Names"], swiftSettings: settings),
        .testTarget(name: "CookieJarTests", dependencies: ["CookieJar", "Names"], swiftSettings: settings),
        .testTarget(name: "HTTPDNSTests", dependencies: ["HTTPDNS", "Names", httpTypes], swiftSettings: settings),
    ]
)
