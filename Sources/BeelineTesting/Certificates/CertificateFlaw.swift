// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a certificate that ``TestAuthority`` signs.
///
/// Two more flaws need no case: a certificate for another name is one that was asked for with that name, and one from
/// an authority that nobody trusts is one of a second ``TestAuthority``.
public struct CertificateFlaw: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    enum Kind: String, CaseIterable {
        case none, expired, notYetValid, selfSigned, incompleteChain
    }

    let kind: Kind

    /// Nothing: valid from yesterday for three months.
    public static let none = CertificateFlaw(kind: .none)
    /// It ended yesterday.
    public static let expired = CertificateFlaw(kind: .expired)
    /// It begins tomorrow.
    public static let notYetValid = CertificateFlaw(kind: .notYetValid)
    /// Its own key signed it.
    public static let selfSigned = CertificateFlaw(kind: .selfSigned)
    /// An intermediate signed it whose certificate the server does not send.
    public static let incompleteChain = CertificateFlaw(kind: .incompleteChain)

    /// Every one, ``none`` included.
    public static var allCases: [CertificateFlaw] { Kind.allCases.map(CertificateFlaw.init) }

    /// The flaw's name, for the titles of tests.
    public var description: String { kind.rawValue }
}
