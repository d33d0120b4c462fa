// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The descriptors beside the standard streams that this process was started with, for a program that it starts in turn.
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

    /// None.
    package init() { files = [:] }

    /// Those of the numbers that are open and outlive an `exec`: to be asked before this process opens any that does.
    ///
    /// - Parameter numbers: where to look.
    package init(among numbers: Range<CInt>) {
        var files: [CInt: File] = [:]
        for number in numbers {
            let flags = fcntl(number, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0, let file = File(number) { files[number] = file }
        }
        self.files = files
    }

    /// Those that still lead where they did. What a library had open for a moment was none, and its number may be that of one of
    /// our sockets by now.
    package var numbers: Set<CInt> { Set(files.filter { File($0.key) == $0.value }.keys) }
}
