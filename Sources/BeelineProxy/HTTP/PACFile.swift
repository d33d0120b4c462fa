// SPDX-License-Identifier: Apache-2.0

import HTTPWire

/// The proxy auto-configuration (PAC) file for browsers.
enum PACFile {
    /// The file for a proxy.
    ///
    /// - Parameter proxy: the proxy's host and port as the requesting client knows them.
    /// - Returns: the script; nil if `proxy` has other characters, which must not become part of a script.
    static func text(proxy: String) -> String? {
        guard !proxy.isEmpty, proxy.utf8.allSatisfy({ HTTPCharacters.isAuthority($0) }) else { return nil }
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

extension HTTPCharacters {
    /// Whether a proxy's host and port may contain the byte.
    static func isAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: ".-_:[]".utf8.contains(byte)
        }
    }
}
