// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers

/// Writes a jar's changes in batches until its task is cancelled. Then it writes the last batch and closes the file.
struct Writer<C: Clock>: Sendable where C.Duration == Duration {
    let connection: FileConnection
    let exchange: CookieExchange
    let recorder: ChangeRecorder
    let lock: FileLock
    let schedule: WriteSchedule
    let clock: C
    /// The error of the last attempt; nil if it succeeded.
    let failure: NIOLockedValueBox<StoreError?>

    /// Runs until cancelled. Returns the result of the last write and of closing the file.
    func run() async -> Result<Void, StoreError> {
        var schedule = schedule
        let start = clock.now
        while !Task.isCancelled {
            let action = schedule.next(pending: recorder.count, now: start.duration(to: clock.now))
            if case .wait(let deadline) = action {
                await recorder.wakeSignal.wait(until: start.advanced(by: deadline), clock: clock)
                continue
            }
            let succeeded = await attempt(action)
            schedule.did(action, succeeded: succeeded, now: start.duration(to: clock.now))
        }
        return await finish()
    }

    private func attempt(_ action: WriteSchedule.Action) async -> Bool {
        do throws(StoreError) {
            try await connection.perform { [exchange] db in
                if case .write(let withAccess) = action {
                    try exchange.write(db, withAccess: withAccess)
                } else {
                    try exchange.look(db)
                }
            }
            failure.withLockedValue { $0 = nil }
            return true
        } catch {
            failure.withLockedValue { $0 = error }
            return false
        }
    }

    private func finish() async -> Result<Void, StoreError> {
        recorder.finish()
        var result = Result<Void, StoreError>.success(())
        do throws(StoreError) {
            try await connection.perform { [exchange] in try exchange.write($0, withAccess: true) }
        } catch {
            result = .failure(error)
        }
        do throws(StoreError) {
            try await FileConnection.offPool { [connection, lock] () throws(StoreError) in
                defer { lock.release() }
                try connection.close()
            }
        } catch {
            if case .success = result { result = .failure(error) }
        }
        return result
    }
}
