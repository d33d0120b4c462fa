// SPDX-License-Identifier: Apache-2.0

import HTTPWire

/// The proxy auto-configuration (PAC) file for browsers.
enum PACFile {
    /// The file for a proxy.
    ///
    /// - Parameter proxy: the proxy's host and port as the requesting client knows them.
    /// - Returns: the script; nil if `proxy` has other characters, which must not become part of a script.
    static func text(proxy: String) -> String? {
        let isAllowed = { (byte: UInt8) in HTTPCharacters.isLetterOrDigit(byte) || ".-_:[]".utf8.contains(byte) }
        guard !proxy.isEmpty, proxy.utf8.allSatisfy(isAllowed) else { return nil }
        return """
            function FindProxyForURL(url, host) {
              if (isPlainHostName(host) || host === "localhost" || shExpMatch(host, "*.localhost") ||
                  shExpMatch(host, "127.*") || host === "[::1]" || host === "::1") {
                return "DIRECT";
              }
              return "PROXY \(proxy)";
            }

            """
    }
}
