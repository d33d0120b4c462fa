// SPDX-License-Identifier: Apache-2.0

// What Beeline uses of NIOPosix, by name: on Linux an import of the whole brings the C library along, and hides that a file does
// without an import of its own, or uses what Apple's library has not. Scripts/check-apple puts it in NIOPosix's place.

@_exported import class NIOPosix.ClientBootstrap
@_exported import class NIOPosix.DatagramBootstrap
@_exported import class NIOPosix.MultiThreadedEventLoopGroup
@_exported import struct NIOPosix.NIOConnectionError
@_exported import class NIOPosix.NIOThreadPool
@_exported import struct NIOPosix.NonBlockingFileIO
@_exported import class NIOPosix.ServerBootstrap
@_exported import class NIOPosix.ThreadSpecificVariable
