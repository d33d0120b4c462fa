// swift-tools-version:6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "weather",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "beeline", path: "../..", traits: ["ServiceLifecycle"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "Weather",
            dependencies: [
                .product(name: "Beeline", package: "beeline"),
                .product(name: "BeelineService", package: "beeline"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]
        )
    ]
)
