// SPDX-License-Identifier: Apache-2.0

/// An open file and the jar that was filled from it.
struct OpenedFile: Sendable {
    let lock: FileLock
    let connection: FileConnection
    let recorder: ChangeRecorder
    let exchange: CookieExchange
    let report: CookieDatabaseReport
}
