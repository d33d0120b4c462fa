// SPDX-License-Identifier: Apache-2.0

import LibC

/// The descriptors, besides the standard streams, that this process inherited, to pass on to a program that it starts.
package struct InheritedDescriptors: Sendable {
    private struct File: Hashable {
        let device: dev_t
        let number: ino_t

        init?(_ descriptor: CInt) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            device = status.st_dev
            number = status.st_ino
        }
    }

    private let files: [CInt: File]

    /// Creates an empty set.
    package init() { files = [:] }

    /// Finds the open descriptors without close-on-exec. Call it before this process opens any such descriptor.
    ///
    /// - Parameter numbers: the descriptor numbers to check.
    package init(among numbers: Range<CInt>) {
        var files: [CInt: File] = [:]
        for number in numbers {
            let flags = fcntl(number, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0, let file = File(number) { files[number] = file }
        }
        self.files = files
    }

    /// The descriptors that still refer to the same file. A library may have had a file open only during the search, and its
    /// number may now belong to a socket of this process.
    package var numbers: Set<CInt> { Set(files.filter { File($0.key) == $0.value }.keys) }
}
