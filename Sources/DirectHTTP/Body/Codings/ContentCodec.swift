// SPDX-License-Identifier: Apache-2.0

/// A library that decodes one coding. ``ContentStage`` feeds it and bounds its output.
protocol ContentCodec: AnyObject {
    /// Decodes some of the input into `output`. The input may be empty after a result of ``CodecStep/State/hasOutput``.
    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> CodecStep

    /// Prepares for another member of the body after a complete one. Returns false if `byte` does not start a member.
    func beginMember(with byte: UInt8) -> Bool
}

/// The result of one call of a codec.
struct CodecStep {
    enum State {
        case needsInput
        /// The codec may hold output that did not fit.
        case hasOutput
        /// A member is complete.
        case ended
        /// The input is malformed, or exceeds a bound; the text has the reason.
        case failed(String)
    }

    /// The number of input bytes that were consumed.
    var read: Int
    /// The number of bytes that were written to the output.
    var written: Int
    var state: State
}
