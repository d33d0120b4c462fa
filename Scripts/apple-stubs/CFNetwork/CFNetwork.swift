// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Beeline uses of Apple's CFNetwork, for Scripts/check-apple, as a module of that name.

public import Foundation

public func CFNetworkCopySystemProxySettings() -> Unmanaged<NSDictionary>? { nil }
