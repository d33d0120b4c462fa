// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import LibC

extension String {
    /// The system's description of an `errno` value.
    package static func words(forError number: CInt) -> String {
        // The C library owns the text, so it is copied at once.
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }

    /// The system's reason why the file at a path cannot be read; nil if it can be read.
    package static func reasonNotToRead(_ path: String) -> String? {
        guard unsafe access(path, R_OK) == 0 else { return words(forError: errno) }
        return FileKind(path) == .folder ? words(forError: EISDIR) : nil
    }
}
