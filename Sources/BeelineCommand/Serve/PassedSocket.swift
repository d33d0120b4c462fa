// SPDX-License-Identifier: Apache-2.0

import LibC

/// The socket that systemd opened for the process (socket activation, sd_listen_fds(3)).
enum PassedSocket {
    /// The descriptor of the first passed socket.
    static let first: CInt = 3

    /// Returns the descriptor of the passed socket; nil if the process got none.
    ///
    /// - Parameter process: the number of this process. A variable that names another process was inherited.
    /// - Throws: ``CommandFailure`` if the process got several sockets.
    static func find(
        in environment: [String: String],
        process: pid_t = getpid()
    ) throws(CommandFailure) -> CInt? {
        guard environment["LISTEN_PID"] == "\(process)", let count = environment["LISTEN_FDS"], count != "0" else {
            return nil
        }
        guard count == "1" else {
            let message =
                "LISTEN_FDS is \"\(count)\": serve takes one socket; write one ListenStream= in the socket unit"
            throw CommandFailure(.usage, message)
        }
        return first
    }
}
