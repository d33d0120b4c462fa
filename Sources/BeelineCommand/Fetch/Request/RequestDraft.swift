// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

/// The parts of a request that all URLs of a fetch share: method, fields and body.
struct RequestDraft: Sendable {
    /// The treatment of a field that the client adds by default.
    enum DefaultField: Hashable, Sendable {
        /// Sends the client's default.
        case kept
        /// `-H "Name:"`: omits the field.
        case removed
        case replaced(String)

        func resolved(_ habitual: String?) -> String? {
            switch self {
            case .kept: habitual
            case .removed: nil
            case .replaced(let value): value
            }
        }
    }

    private var method: HTTPRequest.Method?
    private var isHead: Bool
    private(set) var fields: HTTPFields
    private(set) var authority: String?
    private var body = BodyPlan.none
    private var contentType: String?
    /// `-G`: the data to append to each URL's query.
    private(set) var query: String?
    /// The files of `-b`.
    private(set) var cookieFiles: [String] = []
    private(set) var userAgent = DefaultField.kept
    private(set) var accept = DefaultField.kept
    private(set) var scheme = AuthScheme.basic
    private(set) var credentials: Credentials?
    /// `-H "Host:"`.
    private(set) var omitsHost = false
    /// `-e "…;auto"`: a redirected request has the previous URL as its Referer.
    private(set) var sendsReferer = false
    /// The value of `-H "Expect: …"`; nil without the option, and empty if the option removes the field.
    private(set) var expect: String?
    /// The value of `-H "Connection: …"`.
    private(set) var connectionOption: String?
    /// False with `-H "Accept-Encoding:"`.
    private(set) var offersCodings = true
    /// Warnings about fields that are not sent.
    private(set) var warnings: [String] = []
    let message: MessageOptions
    /// Whether the body is sent without its length (`-H "Transfer-Encoding: chunked"`).
    private var isChunked = false

    /// Parses the request options.
    ///
    /// - Throws: ``CommandFailure`` with status `usage` for invalid options, `readFailed` for an unreadable file.
    init(
        _ arguments: RequestArguments,
        message: MessageOptions,
        range: String?,
        cookies: CookieArguments,
        defaults: Defaults,
        files: InputFiles
    ) throws(CommandFailure) {
        self.message = message
        isHead = arguments.head
        fields = [:]
        try readMethod(arguments.method)
        try readBody(arguments, files)
        try readFields(arguments, range: range, cookies: cookies, defaults: defaults, files: files)
        for line in try HeaderLine.all(arguments.headers, files, warnings: &warnings) { try apply(line) }
        let connectionBytes = connectionOption?.utf8.count ?? 0
        let bytes = fields.reduce(connectionBytes) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
        guard bytes <= Self.maxFieldBytes else {
            throw CommandFailure(
                .fieldsTooLarge,
                "the fields of the request have more than \(Self.maxFieldBytes) bytes"
            )
        }
    }

    /// Returns the request and the body for one URL.
    ///
    /// - Parameter upload: the file of `-T` for this URL.
    func request(upload: String?) throws(CommandFailure) -> (HTTPRequest, BodyPlan) {
        var body = body
        if let upload {
            guard body == .none else { throw Self.twoMethods }
            body = upload == "-" || upload == "." ? .standardInput : .upload(upload)
        }
        guard body == .none || !isHead else { throw Self.twoMethods }
        var fields = fields
        if case .form(var form) = body {
            // As in curl, the type of -H replaces multipart/form-data and gets the boundary.
            form.mediaType = fields[.contentType]
            body = .form(form)
            fields[.contentType] = form.form.contentType
        }
        if fields[.contentType] == nil { fields[.contentType] = contentType }
        let usual: HTTPRequest.Method = isHead ? .head : upload != nil ? .put : body == .none ? .get : .post
        let request = HTTPRequest(
            method: method ?? usual,
            scheme: nil,
            authority: authority,
            path: nil,
            headerFields: fields
        )
        return (request, isChunked ? .chunked(body) : body)
    }

    /// Asks for a compressed body, which `--raw` leaves as it is.
    mutating func offerCodings() {
        if offersCodings, fields[.acceptEncoding] == nil { fields[.acceptEncoding] = ContentCoding.offer }
    }

    /// Makes the request conditional on another ETag (RFC 9110 §13.1.2); an empty one matches none.
    mutating func setETag(_ tag: String) { fields[.ifNoneMatch] = tag.isEmpty ? "\"\"" : tag }

    /// Whether curl treats the request as a POST, whatever its method, because it has a body of `-d` or `-F`.
    var isPost: Bool { body != .none }

    /// Whether `-X` is given.
    var hasMethod: Bool { method != nil }

    /// A line about `-X` in curl's words, if it repeats the method that the other options give, or may not do what it seems to.
    ///
    /// - Parameter uploads: whether the request has a file of `-T`.
    func remark(uploads: Bool) -> String? {
        guard let method = method?.rawValue.uppercased() else { return nil }
        let usual = isHead ? "HEAD" : body != .none ? "POST" : uploads ? "PUT" : "GET"
        if method == usual { return "Note: Unnecessary use of -X or --request, \(usual) is already inferred." }
        guard method == "HEAD" else { return nil }
        return "Warning: Setting custom HTTP method to HEAD with -X/--request may not work the way you want. "
            + "Consider using -I/--head instead."
    }

    /// The maximum size of the fields, as in curl.
    private static let maxFieldBytes = 1 << 20

    private static let twoMethods = CommandFailure(
        .usage,
        "choose one of -I, -d, -F and -T: each sets another request method"
    )

    /// Whether the value of a `Connection` field is a list of tokens without `upgrade`, after which the server could use
    /// another protocol.
    private static func isSendableConnection(_ value: String) -> Bool {
        value.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { option in
            let option = String(option.trimmingBlanks)
            return HTTPField.Name(option) != nil && option.lowercased() != "upgrade"
        }
    }

    /// HTTPTypes has no constant for this field, because it uses `HTTPRequest.authority`.
    static let host = HTTPField.Name("Host")

    // MARK: Reading

    private mutating func readMethod(_ text: String?) throws(CommandFailure) {
        guard let text else { return }
        // A method is a token (RFC 9110 §9.1); other characters could end the request line early.
        guard let method = HTTPRequest.Method(text), method != .connect else {
            throw CommandFailure(.usage, "-X \"\(text)\": it is not a method that can be sent")
        }
        self.method = method
    }

    private mutating func readBody(_ arguments: RequestArguments, _ files: InputFiles) throws(CommandFailure) {
        let (pieces, parts) = (arguments.data, arguments.form)
        guard pieces.isEmpty || parts.isEmpty else { throw Self.twoMethods }
        if !parts.isEmpty {
            var form = try FormPlan(parts, files: files)
            form.escaping = message.escapesFormNames ? .backslash : .percent
            body = .form(form)
            return
        }
        guard !pieces.isEmpty else { return }
        if !arguments.get, pieces.count == 1, pieces[0].kind == .binary, let file = pieces[0].file,
            files.size(file) != nil
        {
            // In this case only, the file is the whole body, so it is streamed instead of read into memory.
            body = .file(file)
        } else {
            var bytes: [UInt8] = []
            for piece in pieces {
                // As in curl, nothing is joined to empty data.
                if !bytes.isEmpty, piece.kind != .json { bytes.append(UInt8(ascii: "&")) }
                bytes += try piece.bytes(files)
            }
            if arguments.get {
                query = PercentEncoding.urlText(bytes)
            } else {
                body = .bytes(bytes)
            }
        }
        let isJSON = pieces.contains { $0.kind == .json }
        if isJSON { accept = .replaced("application/json") }
        // As in curl, --json sends its fields with -G too.
        guard isJSON || !arguments.get else { return }
        contentType = isJSON ? "application/json" : "application/x-www-form-urlencoded"
    }

    private mutating func readFields(
        _ arguments: RequestArguments,
        range: String?,
        cookies: CookieArguments,
        defaults: Defaults,
        files: InputFiles
    ) throws(CommandFailure) {
        if let agent = arguments.userAgent ?? defaults.userAgent {
            userAgent = agent.isEmpty ? .removed : .replaced(try HeaderLine.checked(agent, "-A"))
        }
        scheme = AuthScheme(basic: arguments.basic, digest: arguments.digest, anyauth: arguments.anyauth)
        if let token = arguments.oauth2Bearer {
            guard arguments.user == nil else {
                throw CommandFailure(.usage, "-u and --oauth2-bearer exclude each other")
            }
            fields[.authorization] = "Bearer " + (try HeaderLine.checked(token, "--oauth2-bearer"))
        }
        if let user = arguments.user {
            let given = try BasicCredentials(user, option: "-u", of: "host", files)
            credentials = scheme.credentials(user: given.user, password: given.password)
            if credentials == nil { fields[.authorization] = given.fieldValue }
        }
        if var referer = arguments.referer {
            sendsReferer = referer.hasSuffix(";auto")
            if sendsReferer { referer.removeLast(5) }
            if !referer.isEmpty { fields[.referer] = try HeaderLine.checked(referer, "-e") }
        }
        if let range {
            guard !range.isEmpty, range.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == "-" || $0 == ",") }) else {
                throw CommandFailure(.usage, "-r \"\(range)\": write it as 0-499, 500- or -500")
            }
            fields[.range] = "bytes=" + (range.contains("-") ? range : range + "-")
        }
        guard !cookies.noCookies else { return }
        var own: [String] = []
        for text in cookies.cookie where !text.isEmpty {
            let isFile = text.cut(atFirst: "=") == nil
            if isFile { cookieFiles.append(text) } else { own.append(try HeaderLine.checked(text, "-b")) }
        }
        if !own.isEmpty { fields[.cookie] = own.joined(separator: "; ") }
    }

    /// Applies a field of `-H`, which replaces the value of other options and of the client.
    private mutating func apply(_ line: HeaderLine) throws(CommandFailure) {
        switch line.name {
        case Self.host where line.value == nil: omitsHost = true
        // As in curl, the first one counts.
        case Self.host: authority = authority ?? line.value
        case .expect: expect = line.value ?? ""
        case .userAgent: userAgent = line.value.map(DefaultField.replaced) ?? .removed
        case .accept where line.value == nil: accept = .removed
        case .transferEncoding where line.value?.lowercased() == "chunked": isChunked = true
        // The client writes the field, because it manages the connections.
        case .connection where line.value.map(Self.isSendableConnection) == true: connectionOption = line.value
        case .acceptEncoding where line.value == nil: offersCodings = false
        default:
            if line.isFirst { fields[line.name] = nil }
            if line.name == .contentType, line.value == nil { contentType = nil }
            if let value = line.value { fields.append(HTTPField(name: line.name, value: value)) }
        }
    }
}
