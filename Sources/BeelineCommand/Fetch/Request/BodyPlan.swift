// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The source of a request body, before it is opened.
indirect enum BodyPlan: Hashable, Sendable {
    case none
    case bytes([UInt8])
    /// A file, read while it is sent.
    case file(String)
    /// The end of a file, from an offset (`-T` with `-C`).
    case fileTail(String, from: Int64, length: Int64)
    /// Standard input, read while it is sent. It cannot be replayed.
    case standardInput
    /// A pipe or a device, read while it is sent. It cannot be replayed.
    case stream(String)
    case form(FormPlan)
    /// Another body, sent without Content-Length.
    case chunked(BodyPlan)

    /// Returns the body for the file, pipe or device at a path.
    static func upload(_ path: String) -> BodyPlan {
        FileDescriptor.isRegular(path) || !FileDescriptor.exists(path) ? .file(path) : .stream(path)
    }

    /// Returns the body for the client.
    ///
    /// - Parameters:
    ///   - meter: counts the sent bytes.
    ///   - countsMemory: whether to count also a body in memory. It is then not sent together with the head.
    func requestBody(_ meter: UploadMeter, countsMemory: Bool) -> RequestBody {
        switch self {
        case .none: .none
        case .bytes(let bytes): countsMemory ? meter.counting(.bytes(bytes)) : .bytes(bytes)
        case .file(let path): meter.counting(.file(path))
        case .fileTail(let path, let offset, let length):
            meter.counting(.stream(length: length) { DescriptorBody(.tail(path, from: offset, length: length)) })
        case .standardInput:
            meter.counting(.once(length: nil, DescriptorBody(.standardInput)))
        case .stream(let path): meter.counting(.once(length: nil, DescriptorBody(.path(path))))
        case .form(let form): meter.counting(form.form.body)
        case .chunked(let body): meter.counting(body.requestBody(meter, countsMemory: countsMemory).withoutLength())
        }
    }

    /// Returns the size in bytes; nil if it is not known before reading.
    func size(_ files: InputFiles) -> Int64? {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let path): files.size(path)
        case .fileTail(_, _, let length): length
        case .standardInput, .stream: nil
        case .form(let form): (try? form.form.body.contentLength()) ?? nil
        case .chunked(let body): body.size(files)
        }
    }

    /// Whether the body can only be sent without its length. The size of a file that is missing is not known either, but
    /// that is another error.
    var isOfUnknownLength: Bool {
        switch self {
        case .none, .bytes, .file, .fileTail: false
        case .standardInput, .stream, .chunked: true
        case .form: size(.real) == nil
        }
    }

    /// Whether the body can be sent again for a retry.
    var isReplayable: Bool {
        switch self {
        case .standardInput, .stream: false
        case .chunked(let body): body.isReplayable
        case .form(let form): form.parts.allSatisfy(\.isReplayable)
        case .none, .bytes, .file, .fileTail: true
        }
    }
}
