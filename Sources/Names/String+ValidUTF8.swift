// SPDX-License-Identifier: Apache-2.0

extension String {
    /// Decodes UTF-8; nil if the octets are not valid. The initializer of the standard library needs macOS 15 and iOS 18.
    @inlinable package init?(validUTF8 octets: some Collection<UInt8>) {
        // Decoding repairs invalid input, so the result then differs from the input.
        self.init(decoding: octets, as: UTF8.self)
        guard utf8.elementsEqual(octets) else { return nil }
    }
}
