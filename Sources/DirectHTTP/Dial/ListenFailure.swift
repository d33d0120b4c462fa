// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore

/// Explains why a server cannot listen.
package enum ListenFailure {
    /// One line for an error, with the place, the system's reason and the remedy.
    package static func explain(_ error: any Error, at place: some CustomStringConvertible) -> String {
        guard let error = error as? IOError else { return "cannot listen on \(place): \(error)" }
        return "cannot listen on \(place): \(String(cString: strerror(error.errnoCode)))\(remedy(error.errnoCode))"
    }

    private static func remedy(_ code: CInt) -> String {
        switch code {
        case EACCES: "; ports below 1024 need root; choose a higher one"
        case EADDRINUSE: "; another program uses the port"
        case EADDRNOTAVAIL: "; no interface of this machine has the address now"
        default: ""
        }
    }
}
