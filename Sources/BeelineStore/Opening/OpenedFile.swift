// SPDX-License-Identifier: Apache-2.0

/// An open file and the jar that was filled from it.
struct OpenedFile: Sendable {
    let lock: FileLock
    let connection: Connection
    let recorder: ChangeRecorder
    let exchange: Exchange
    let report: CookieDatabaseReport
}
