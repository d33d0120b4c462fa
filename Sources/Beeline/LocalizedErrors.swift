// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPDNS
public import Names

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// Apps show `error.localizedDescription`. Without these, it does not say what failed.

extension BeelineError: LocalizedError {
    /// The message, for `localizedDescription`. It is in English.
    public var errorDescription: String? { message }
}

extension DirectHTTPError: LocalizedError {
    /// The message, for `localizedDescription`. It is in English.
    public var errorDescription: String? { message }
}

extension NameError: LocalizedError {
    /// The message, for `localizedDescription`. It is in English.
    public var errorDescription: String? { message }
}

extension ResolutionError: LocalizedError {
    /// The message, for `localizedDescription`. It is in English.
    public var errorDescription: String? { message }
}

extension UpstreamError: LocalizedError {
    /// The message, for `localizedDescription`. It is in English.
    public var errorDescription: String? { message }
}
