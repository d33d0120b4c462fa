// SPDX-License-Identifier: Apache-2.0

import GRDB
import HTTPDNS

extension StoredAnswer {
    /// When the newer part was said.
    var said: Int64 { max(v4?.storedAt ?? .min, v6?.storedAt ?? .min) }

    /// The columns of the table, in their order.
    var columns: StatementArguments {
        [
            name, network, upstream, said,
            v4?.text, v4?.storedAt, v4?.expiresAt,
            v6?.text, v6?.storedAt, v6?.expiresAt,
        ]
    }

    /// A row's answer; nil where a column is not what it should be.
    init?(_ row: Row) {
        var reader = RowReader(row)
        guard let name = reader.text(), let network = reader.text(), let upstream = reader.text(),
            reader.integer() != nil
        else { return nil }
        self.init(name: name, network: network, upstream: upstream, v4: Part(&reader), v6: Part(&reader))
    }
}

extension StoredAnswer.Part {
    /// The addresses in one text.
    fileprivate var text: String { addresses.joined(separator: " ") }

    fileprivate init?(_ reader: inout RowReader) {
        let (text, stored, expires) = (reader.text(), reader.integer(), reader.integer())
        guard let text, let stored, let expires else { return nil }
        self.init(addresses: text.split(separator: " ").map(String.init), storedAt: stored, expiresAt: expires)
    }
}
