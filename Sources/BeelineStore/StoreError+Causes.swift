// SPDX-License-Identifier: Apache-2.0

import GRDB
import LibC

extension StoreError {
    /// Makes an error from an SQLite error. The message names tables and columns, but no contents.
    init(_ error: any Error, path: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self.init(.failed, path: path, "\(path): \(error)")
            return
        }
        let cause = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        let (code, remedy): (Code, String) =
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB:
                (.damaged, "open it again: the damaged file is then set aside")
            // The limits of a value and of a row are far above the cookies that a jar accepts.
            case .SQLITE_TOOBIG: (.damaged, "it holds more data than cookies need; name another file")
            case .SQLITE_BUSY, .SQLITE_LOCKED:
                (.busy, "another process holds its lock; try again, or allow a longer busyTimeout")
            case .SQLITE_FULL: (.diskFull, "make room on the disk; what is not written yet is tried again")
            case .SQLITE_READONLY where error.extendedResultCode == .SQLITE_READONLY_DBMOVED:
                (.moved, "it was moved or deleted while it was open; open it again")
            case .SQLITE_READONLY: (.notAccessible, "the file and its directory must be writable")
            case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
                (.notAccessible, "the file and its directory must be readable and writable")
            // The shared memory file is the first that needs room.
            case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE:
                (.diskFull, "make room on the disk; what is not written yet is tried again")
            case .SQLITE_IOERR: (.inputOutput, "check the disk; what is not written yet is tried again")
            case .SQLITE_MISUSE: (.closed, "it is closed; open it again")
            default: (.failed, "examine the file with `sqlite3`, or move it away")
            }
        self.init(code, path: path, "\(path): \(cause); \(remedy)")
        // Not for errors that are not about the file, such as out of memory.
        isOfSchema = [.SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(error.resultCode)
    }

    /// Makes an error from a failed system call on a file.
    static func system(path: String, _ what: String, errno number: CInt) -> StoreError {
        let code: Code =
            switch number {
            case ENOSPC, EDQUOT: .diskFull
            case EIO: .inputOutput
            default: .notAccessible
            }
        return StoreError(code, path: path, "\(path): \(what): \(String(cString: strerror(number)))")
    }

    /// Makes the error for a file of a newer version.
    static func newerVersion(_ version: Int, supported: Int, path: String) -> StoreError {
        let message = "\(path) has version \(version), this library supports \(supported); update the program"
        return StoreError(.newerSchema, path: path, message)
    }
}
