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
        .executable(name: "beeline", targets: ["BeelineCommand"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-atomics", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(name: "Names", swiftSettings: settings),
        .target(
            name: "CookieJar",
            dependencies: [
                "Names", .product(name: "Atomics", package: "swift-atomics"),
                .product(name: "NIOConcurrencyHelpers", package: nio),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "BeelineCommand",
            dependencies: [
                "Names", "CookieJar", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "NamesTests", dependencies: ["Names"], swiftSettings: settings),
        .testTarget(name: "CookieJarTests", dependencies: ["CookieJar", "Names"], swiftSettings: settings),
    ]
)

// Benchmarks are for those who work on the package, not for those who build it.
if Context.environment["BEELINE_BENCHMARKS"] == "1" {
    package.products.append(.executable(name: "beeline-bench", targets: ["BeelineBench"]))
    package.targets.append(
        .executableTarget(
            name: "BeelineBench",
            dependencies: ["Names", "CookieJar"],
            path: "Benchmarks/BeelineBench",
            swiftSettings: settings
        )
    )
}
