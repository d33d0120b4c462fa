// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Reads the header blocks that a server sends on a connection, in their order, whether or not anybody wants the fields: the
/// table is the connection's.
struct HTTP2HeaderReader {
    private var decoder: HPACKDecoder
    private var last = LastHeaderBlock<(HTTP2Headers.Received, insertions: [HPACKField])>()

    init(maximumListSize: Int, maximumFields: Int) {
        decoder = HPACKDecoder(maximumListSize: maximumListSize, maximumFields: maximumFields)
    }

    /// What the fields of one block may take (``HPACKDecoder``).
    var maximumListSize: Int { decoder.maximumListSize }

    mutating func read(_ block: ByteBuffer) throws(HTTP2ConnectionError) -> HTTP2Headers.Received {
        if let (received, insertions) = last.content(of: block) {
            decoder.insert(insertions)
            return received
        }
        var received = HTTP2Headers.Received()
        try decoder.decode(block) { received.take($0) }
        if let insertions = decoder.insertions {
            last.note(block, (received, insertions))
        } else {
            last.forget()
        }
        return received
    }
}
