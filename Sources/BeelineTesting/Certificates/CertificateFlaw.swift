// SPDX-License-Identifier: Apache-2.0

/// A defect of a certificate that ``TestAuthority`` signs.
///
/// Two more defects need no case. For a wrong name, request a certificate for that name. For an untrusted issuer, sign with a
/// second ``TestAuthority``.
public struct CertificateFlaw: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable {
        case none, expired, notYetValid, selfSigned, incompleteChain
    }

    let kind: Kind

    /// No defect. The certificate is valid from yesterday for three months.
    public static let none = CertificateFlaw(kind: .none)
    /// The certificate expired yesterday.
    public static let expired = CertificateFlaw(kind: .expired)
    /// The certificate becomes valid tomorrow.
    public static let notYetValid = CertificateFlaw(kind: .notYetValid)
    /// The certificate is signed with its own key.
    public static let selfSigned = CertificateFlaw(kind: .selfSigned)
    /// The certificate is signed by an intermediate whose certificate the server does not send.
    public static let incompleteChain = CertificateFlaw(kind: .incompleteChain)

    /// All cases, including ``none``.
    package static var allCases: [CertificateFlaw] { Kind.allCases.map(CertificateFlaw.init) }

    /// The name of the flaw, for test titles.
    public var description: String { kind.rawValue }
}
