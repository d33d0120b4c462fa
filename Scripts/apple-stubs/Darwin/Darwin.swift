// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Beeline uses of Apple's C library, for Scripts/check-apple, as a module of that name: by name what Linux has in the same
// form, and as declarations what has another one there or is not here. A use of anything else fails the check. A name may be
// added if Apple's library has it, and to the first list only if its type is the same.

@_exported import DarwinCalls
public import Glibc

@_exported import var Glibc.AF_INET
@_exported import var Glibc.AF_INET6
@_exported import var Glibc.AF_UNSPEC
@_exported import var Glibc.CLOCK_MONOTONIC_RAW
@_exported import var Glibc.CLOCK_REALTIME
@_exported import var Glibc.EACCES
@_exported import var Glibc.EADDRINUSE
@_exported import var Glibc.EADDRNOTAVAIL
@_exported import var Glibc.EAGAIN
@_exported import var Glibc.EAI_AGAIN
@_exported import var Glibc.EAI_NONAME
@_exported import var Glibc.EBADF
@_exported import var Glibc.EBUSY
@_exported import var Glibc.ECANCELED
@_exported import var Glibc.ECONNREFUSED
@_exported import var Glibc.ECONNRESET
@_exported import var Glibc.EDQUOT
@_exported import var Glibc.EEXIST
@_exported import var Glibc.EFBIG
@_exported import var Glibc.EINTR
@_exported import var Glibc.EIO
@_exported import var Glibc.EISDIR
@_exported import var Glibc.ELOOP
@_exported import var Glibc.ENAMETOOLONG
@_exported import var Glibc.ENODEV
@_exported import var Glibc.ENOENT
@_exported import var Glibc.ENOSPC
@_exported import var Glibc.ENOTDIR
@_exported import var Glibc.ENXIO
@_exported import var Glibc.EPERM
@_exported import var Glibc.EPIPE
@_exported import var Glibc.EROFS
@_exported import var Glibc.ESPIPE
@_exported import var Glibc.EWOULDBLOCK
@_exported import var Glibc.FD_CLOEXEC
@_exported import var Glibc.F_GETFD
@_exported import var Glibc.F_OK
@_exported import var Glibc.F_SETFD
@_exported import var Glibc.F_SETFL
@_exported import var Glibc.LOCK_EX
@_exported import var Glibc.LOCK_NB
@_exported import var Glibc.LOCK_SH
@_exported import var Glibc.LOCK_UN
@_exported import var Glibc.O_APPEND
@_exported import var Glibc.O_CLOEXEC
@_exported import var Glibc.O_CREAT
@_exported import var Glibc.O_DIRECTORY
@_exported import var Glibc.O_EXCL
@_exported import var Glibc.O_NOFOLLOW
@_exported import var Glibc.O_NONBLOCK
@_exported import var Glibc.O_RDONLY
@_exported import var Glibc.O_RDWR
@_exported import var Glibc.O_TRUNC
@_exported import var Glibc.O_WRONLY
@_exported import var Glibc.POLLIN
@_exported import var Glibc.POLLOUT
@_exported import var Glibc.P_PID
@_exported import var Glibc.R_OK
@_exported import var Glibc.SEEK_CUR
@_exported import var Glibc.SEEK_END
@_exported import var Glibc.SEEK_SET
@_exported import var Glibc.SIGCHLD
@_exported import var Glibc.SIGHUP
@_exported import var Glibc.SIGINT
@_exported import var Glibc.SIGKILL
@_exported import var Glibc.SIGPIPE
@_exported import var Glibc.SIGQUIT
@_exported import var Glibc.SIGTERM
@_exported import var Glibc.SIGTSTP
@_exported import var Glibc.SIGUSR1
@_exported import var Glibc.SIGUSR2
@_exported import var Glibc.SIG_DFL
@_exported import var Glibc.SIG_IGN
@_exported import var Glibc.SIG_UNBLOCK
@_exported import var Glibc.SOL_SOCKET
@_exported import var Glibc.SO_ACCEPTCONN
@_exported import var Glibc.SO_RCVLOWAT
@_exported import var Glibc.STDERR_FILENO
@_exported import var Glibc.STDIN_FILENO
@_exported import var Glibc.STDOUT_FILENO
@_exported import var Glibc.TIOCGWINSZ
@_exported import var Glibc.WEXITED
@_exported import var Glibc.WNOWAIT
@_exported import var Glibc.W_OK
@_exported import var Glibc.X_OK
@_exported import func Glibc.access
@_exported import struct Glibc.addrinfo
@_exported import func Glibc.bind
@_exported import func Glibc.chmod
@_exported import func Glibc.clock_gettime
@_exported import func Glibc.close
@_exported import func Glibc.connect
@_exported import func Glibc.dup2
@_exported import var Glibc.errno
@_exported import func Glibc.exit
@_exported import func Glibc.fchmod
@_exported import func Glibc.fclose
@_exported import func Glibc.fcntl
@_exported import func Glibc.ferror
@_exported import func Glibc.fopen
@_exported import func Glibc.fread
@_exported import func Glibc.free
@_exported import func Glibc.freeaddrinfo
@_exported import func Glibc.fsync
@_exported import func Glibc.ftruncate
@_exported import func Glibc.gai_strerror
@_exported import func Glibc.getaddrinfo
@_exported import func Glibc.getdtablesize
@_exported import func Glibc.getenv
@_exported import func Glibc.geteuid
@_exported import func Glibc.gethostname
@_exported import func Glibc.getpeername
@_exported import func Glibc.getpgrp
@_exported import func Glibc.getpid
@_exported import func Glibc.getpwuid
@_exported import func Glibc.getsid
@_exported import func Glibc.getsockname
@_exported import func Glibc.getsockopt
@_exported import func Glibc.getuid
@_exported import func Glibc.gmtime_r
@_exported import struct Glibc.id_t
@_exported import func Glibc.if_nametoindex
@_exported import func Glibc.ioctl
@_exported import func Glibc.isatty
@_exported import func Glibc.kill
@_exported import func Glibc.listen
@_exported import func Glibc.lseek
@_exported import func Glibc.memchr
@_exported import func Glibc.memcmp
@_exported import func Glibc.memset
@_exported import func Glibc.mkdtemp
@_exported import struct Glibc.off_t
@_exported import struct Glibc.pid_t
@_exported import func Glibc.pipe
@_exported import struct Glibc.pollfd
@_exported import func Glibc.pread
@_exported import func Glibc.pthread_rwlock_destroy
@_exported import func Glibc.pthread_rwlock_init
@_exported import func Glibc.pthread_rwlock_rdlock
@_exported import struct Glibc.pthread_rwlock_t
@_exported import func Glibc.pthread_rwlock_unlock
@_exported import func Glibc.pthread_rwlock_wrlock
@_exported import func Glibc.pwrite
@_exported import func Glibc.raise
@_exported import func Glibc.read
@_exported import func Glibc.readlink
@_exported import func Glibc.realpath
@_exported import func Glibc.rename
@_exported import struct Glibc.rlim_t
@_exported import struct Glibc.rlimit
@_exported import func Glibc.rmdir
@_exported import struct Glibc.sa_family_t
@_exported import struct Glibc.siginfo_t
@_exported import func Glibc.signal
@_exported import struct Glibc.sockaddr
@_exported import struct Glibc.sockaddr_in
@_exported import struct Glibc.sockaddr_in6
@_exported import struct Glibc.sockaddr_storage
@_exported import func Glibc.socket
@_exported import struct Glibc.socklen_t
@_exported import func Glibc.strdup
@_exported import func Glibc.strerror
@_exported import func Glibc.strftime
@_exported import func Glibc.strlen
@_exported import func Glibc.tcgetpgrp
@_exported import func Glibc.time
@_exported import struct Glibc.time_t
@_exported import struct Glibc.timespec
@_exported import struct Glibc.tm
@_exported import func Glibc.unlink
@_exported import func Glibc.unlinkat
@_exported import func Glibc.usleep
@_exported import func Glibc.waitid
@_exported import func Glibc.waitpid
@_exported import struct Glibc.winsize
@_exported import func Glibc.write

// MARK: Files

public struct DIR {}
public struct dirent {
    public var d_name: (CChar, CChar) = (0, 0)
}

public func opendir(_ path: UnsafePointer<CChar>?) -> UnsafeMutablePointer<DIR>? { nil }
public func readdir(_ folder: UnsafeMutablePointer<DIR>?) -> UnsafeMutablePointer<dirent>? { nil }
public func closedir(_ folder: UnsafeMutablePointer<DIR>?) -> CInt { -1 }

public typealias dev_t = Int32
public typealias ino_t = UInt64
public typealias mode_t = UInt16
public typealias stat = DarwinCalls.FileStatus

public func open(_ path: UnsafePointer<CChar>, _ flags: CInt) -> CInt { -1 }
public func open(_ path: UnsafePointer<CChar>, _ flags: CInt, _ mode: mode_t) -> CInt { -1 }
public func fstat(_ descriptor: CInt, _ status: UnsafeMutablePointer<stat>?) -> CInt { -1 }

public func mkdir(_ path: UnsafePointer<CChar>?, _ mode: mode_t) -> CInt { -1 }
public func utimensat(
    _ folder: CInt,
    _ path: UnsafePointer<CChar>?,
    _ times: UnsafePointer<timespec>?,
    _ flag: CInt
) -> CInt { -1 }

public var AT_FDCWD: CInt { -2 }
public var S_IFMT: mode_t { 0o170000 }
public var S_IFREG: mode_t { 0o100000 }
public var S_IFDIR: mode_t { 0o040000 }
public var S_IFIFO: mode_t { 0o010000 }

// MARK: Descriptors

public typealias nfds_t = UInt32

public func poll(_ descriptors: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ milliseconds: CInt) -> CInt { -1 }
public func getrlimit(_ resource: CInt, _ limit: UnsafeMutablePointer<rlimit>?) -> CInt { -1 }
public func setrlimit(_ resource: CInt, _ limit: UnsafePointer<rlimit>?) -> CInt { -1 }

public var RLIMIT_NOFILE: CInt { 8 }
public var OPEN_MAX: CInt { 10_240 }

// MARK: Sockets

public var SOCK_STREAM: CInt { 1 }
public var SOCK_DGRAM: CInt { 2 }
public var SO_NWRITE: CInt { 0x1024 }
public var TCP_KEEPALIVE: CInt { 0x10 }
public var TCP_KEEPINTVL: CInt { 0x101 }
public var PIPE_BUF: CInt { 512 }
public var TCP_KEEPCNT: CInt { 0x102 }
public var TCP_NOTSENT_LOWAT: CInt { 0x201 }
public var IP_BOUND_IF: CInt { 25 }
public var IPV6_BOUND_IF: CInt { 125 }
public var EAI_ADDRFAMILY: CInt { 1 }
public var EAI_NODATA: CInt { 7 }

// MARK: Signals

public typealias sigset_t = UInt32
public typealias sigaction = DarwinCalls.SignalAction

extension siginfo_t {
    public var si_pid: pid_t { 0 }
}

public var SA_RESTART: CInt { 0x0002 }
public var SA_SIGINFO: CInt { 0x0040 }

public func sigemptyset(_ signals: UnsafeMutablePointer<sigset_t>?) -> CInt { 0 }
public func sigaddset(_ signals: UnsafeMutablePointer<sigset_t>?, _ signal: CInt) -> CInt { 0 }
public func pthread_sigmask(
    _ how: CInt,
    _ signals: UnsafePointer<sigset_t>?,
    _ old: UnsafeMutablePointer<sigset_t>?
) -> CInt { 0 }

// MARK: Terminals

public typealias tcflag_t = UInt

public struct termios {
    public var c_lflag: tcflag_t = 0
    public init() {}
}

public func tcgetattr(_ descriptor: CInt, _ settings: UnsafeMutablePointer<termios>?) -> CInt { 0 }
public func tcsetattr(_ descriptor: CInt, _ when: CInt, _ settings: UnsafePointer<termios>?) -> CInt { 0 }

public var ECHO: CInt { 8 }
public var TCSANOW: CInt { 0 }
public var TCSAFLUSH: CInt { 2 }

// MARK: Processes

public typealias posix_spawnattr_t = UnsafeMutableRawPointer
public typealias posix_spawn_file_actions_t = UnsafeMutableRawPointer
public typealias SpawnAttributes = UnsafeMutablePointer<posix_spawnattr_t?>
public typealias SpawnActions = UnsafeMutablePointer<posix_spawn_file_actions_t?>

public func posix_spawn_file_actions_init(_ actions: SpawnActions?) -> CInt { 0 }
public func posix_spawn_file_actions_destroy(_ actions: SpawnActions?) -> CInt { 0 }
public func posix_spawn_file_actions_adddup2(_ actions: SpawnActions?, _ from: CInt, _ to: CInt) -> CInt { 0 }
public func posix_spawn_file_actions_addinherit_np(_ actions: SpawnActions?, _ descriptor: CInt) -> CInt { 0 }
public func posix_spawn_file_actions_addopen(
    _ actions: SpawnActions?,
    _ descriptor: CInt,
    _ path: UnsafePointer<CChar>?,
    _ flags: CInt,
    _ mode: mode_t
) -> CInt { 0 }
public func posix_spawnattr_init(_ attributes: SpawnAttributes?) -> CInt { 0 }
public func posix_spawnattr_destroy(_ attributes: SpawnAttributes?) -> CInt { 0 }
public func posix_spawnattr_setflags(_ attributes: SpawnAttributes?, _ flags: CShort) -> CInt { 0 }
public func posix_spawnattr_setpgroup(_ attributes: SpawnAttributes?, _ group: pid_t) -> CInt { 0 }
public func posix_spawnattr_setsigdefault(_ attributes: SpawnAttributes?, _ signals: UnsafePointer<sigset_t>?) -> CInt {
    0
}
public func posix_spawnattr_setsigmask(_ attributes: SpawnAttributes?, _ signals: UnsafePointer<sigset_t>?) -> CInt {
    0
}
public func posix_spawnp(
    _ process: UnsafeMutablePointer<pid_t>?,
    _ program: UnsafePointer<CChar>?,
    _ actions: UnsafePointer<posix_spawn_file_actions_t?>?,
    _ attributes: UnsafePointer<posix_spawnattr_t?>?,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt { 0 }

public var POSIX_SPAWN_SETPGROUP: CInt { 0x02 }
public var POSIX_SPAWN_SETSIGDEF: CInt { 0x04 }
public var POSIX_SPAWN_SETSIGMASK: CInt { 0x08 }
public var POSIX_SPAWN_CLOEXEC_DEFAULT: CInt { 0x4000 }
