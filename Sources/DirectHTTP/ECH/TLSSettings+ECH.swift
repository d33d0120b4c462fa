// SPDX-License-Identifier: Apache-2.0

extension TLSSettings {
    /// When the ClientHello, and with it the server name, is encrypted (Encrypted Client Hello, RFC 9849). Observers then see the
    /// public name of the server's configuration instead.
    ///
    /// A server that cannot decrypt the ClientHello says so with a certificate for the public name, which is verified as any
    /// other. The client then connects once more to the same address, with the configuration that the server sent. A handshake
    /// that fails in any other way, e.g. because something on the path drops the ClientHello, never leads to one without ECH:
    /// otherwise an attacker could turn ECH off by it. It is a failed attempt at that address.
    public enum ECH: Hashable, Sendable {
        /// Never.
        case off
        /// Where an HTTPS record of the origin has a configuration. If the server has turned ECH off, as confirmed by its
        /// certificate for the public name, the client connects without ECH, and does so for ten minutes. A configuration from
        /// plain DNS is used too: it reveals no more than a handshake without ECH. If ``TLSSettings/verifiesCertificate`` is
        /// false, ECH is not used: the client could not believe a server that has other keys or has turned ECH off.
        case automatic
        /// Always, or the connection fails with code `echFailed`. Addresses whose configuration came by plain DNS, where others
        /// may have changed it, are not connected to.
        case required
        /// Always, with this list instead of that of an HTTPS record, or the connection fails with code `echFailed`. It applies
        /// to every origin, also through a proxy. A server's retry configurations are used as well.
        case configured(ECHConfigList)
    }
}
