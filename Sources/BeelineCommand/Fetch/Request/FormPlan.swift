// SPDX-License-Identifier: Apache-2.0

import Beeline

/// A value of `-F` or `--form-string`.
struct FormArgument: Hashable, Sendable {
    let text: String
    /// `--form-string`: `@`, `<` and `;` have no special meaning.
    let isLiteral: Bool
}

/// The parts of a multipart form, before their files are opened.
struct FormPlan: Hashable, Sendable {
    /// The deepest nesting of multiparts.
    private static let maxDepth = 16

    let parts: [FormPart]
    /// `--form-escape`.
    var escaping = MultipartForm.NameEscaping.percent
    /// The Content-Type from `-H`, which replaces `multipart/form-data`.
    var mediaType: String?
    private let boundary: String

    /// Parses the form arguments. `=(` opens a nested multipart, and `=)` closes it.
    ///
    /// - Throws: ``CommandFailure`` for a malformed part or an unreadable file.
    init(_ arguments: [FormArgument], files: InputFiles) throws(CommandFailure) {
        var levels: [(opening: FormPart?, parts: [FormPart])] = [(nil, [])]
        for argument in arguments {
            if argument.text == "=)", !argument.isLiteral {
                guard let level = levels.popLast(), var group = level.opening, !levels.isEmpty else {
                    throw CommandFailure(.usage, "-F \"=)\" closes a multipart that is not open")
                }
                group.content = .group(level.parts)
                levels[levels.count - 1].parts.append(group)
                continue
            }
            for part in try FormPart.all(argument, files) {
                if part.opensGroup {
                    guard levels.count < Self.maxDepth else {
                        throw CommandFailure(.usage, "-F: more than \(Self.maxDepth) multiparts are open")
                    }
                    levels.append((part, []))
                } else {
                    levels[levels.count - 1].parts.append(part)
                }
            }
        }
        // As in curl, the end of the arguments closes all multiparts.
        while levels.count > 1, let level = levels.popLast(), var group = level.opening {
            group.content = .group(level.parts)
            levels[levels.count - 1].parts.append(group)
        }
        parts = levels[0].parts
        boundary = MultipartForm().boundary
    }

    /// The multipart form. Its files are read while it is sent.
    var form: MultipartForm {
        var form = MultipartForm(parts.map { $0.part(escaping) }, boundary: boundary)
        form.escaping = escaping
        if let mediaType { form.mediaType = mediaType }
        return form
    }
}

extension FormPart {
    /// The part for the library.
    fileprivate func part(_ escaping: MultipartForm.NameEscaping) -> MultipartForm.Part {
        var body: RequestBody
        switch content {
        case .bytes(let bytes): body = .bytes(bytes)
        case .file(let path): body = .file(path)
        case .pipe(let path): body = .once(length: nil, DescriptorBody(.path(path)))
        case .group(let parts):
            var form = MultipartForm()
            form.parts = parts.map { $0.part(escaping) }
            form.escaping = escaping
            form.mediaType = type ?? "multipart/mixed"
            body = form.body
        }
        if case .group = content {} else { body.contentType = type }
        var part = MultipartForm.Part(name, body, fileName: fileName)
        part.fields = fields
        part.encoding = encoding
        return part
    }

    /// Whether the content can be read again.
    var isReplayable: Bool {
        switch content {
        case .bytes, .file: true
        case .pipe: false
        case .group(let parts): parts.allSatisfy(\.isReplayable)
        }
    }
}
