// SPDX-License-Identifier: Apache-2.0

import Beeline

extension Response {
    /// The failure of a body with codings that this build does not decode, although the request offered only supported
    /// ones, as in curl. Nil if the body is decoded, or if `--compressed` is not in effect.
    var codingProblem: CommandFailure? {
        guard hop.request.headerFields[.acceptEncoding] == ContentCoding.offer,
            let field = hop.response.headerFields[.contentEncoding], ContentCoding.list(fieldValue: field).isEmpty,
            !ContentCoding.names(fieldValue: field).isEmpty
        else { return nil }
        return CommandFailure(
            .undecodableBody,
            "\(url): the body has the coding \(field.singleLine), and this program decodes at most two of \(ContentCoding.offer)"
        )
    }
}
