// SPDX-License-Identifier: Apache-2.0

import GRDB
import HTTPDNS

extension StoredAnswer {
    /// The time of the newer part.
    var said: Int64 { max(v4?.storedAt ?? .min, v6?.storedAt ?? .min) }

    /// The values of the table's columns, in order.
    var columns: StatementArguments {
        [
            name, network, upstream, said,
            v4?.text, v4?.storedAt, v4?.expiresAt,
            v6?.text, v6?.storedAt, v6?.expiresAt,
        ]
    }

    /// Makes the answer from a row; nil if a column has the wrong type.
    init?(_ reader: inout RowReader) {
        guard let name = reader.text(), let network = reader.text(), let upstream = reader.text(),
            reader.integer() != nil
        else { return nil }
        self.init(name: name, network: network, upstream: upstream, v4: Part(&reader), v6: Part(&reader))
    }
}

extension StoredAnswer.Part {
    /// The addresses, separated by spaces.
    fileprivate var text: String { addresses.joined(separator: " ") }

    fileprivate init?(_ reader: inout RowReader) {
        let (text, stored, expires) = (reader.text(), reader.integer(), reader.integer())
        guard let text, let stored, let expires else { return nil }
        self.init(addresses: text.split(separator: " ").map(String.init), storedAt: stored, expiresAt: expires)
    }
}
