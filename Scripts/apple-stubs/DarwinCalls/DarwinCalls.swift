// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The functions of Apple's C library that are called as a structure is, which Swift has no way to declare in one module: a part
// of Darwin.

public import Glibc

public struct FileStatus {
    public var st_dev: Int32 = 0
    public var st_mode: UInt16 = 0
    public var st_ino: UInt64 = 0
    public var st_uid: UInt32 = 0
    public var st_gid: UInt32 = 0
    public var st_size: Int64 = 0
    public var st_mtimespec = timespec()

    public init() {}
}

public struct SignalAction {
    public struct Handler {
        public var __sa_sigaction:
            (@convention(c) (CInt, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void)?
    }

    public var __sigaction_u = Handler()
    public var sa_flags: CInt = 0

    public init() {}
}

public func sigaction(
    _ signal: CInt,
    _ action: UnsafePointer<SignalAction>?,
    _ old: UnsafeMutablePointer<SignalAction>?
) -> CInt { -1 }

public func stat(_ path: UnsafePointer<CChar>?, _ status: UnsafeMutablePointer<FileStatus>?) -> CInt { -1 }
public func flock(_ descriptor: CInt, _ operation: CInt) -> CInt { -1 }
