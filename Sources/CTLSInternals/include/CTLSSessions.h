// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>
#include <stdint.h>

// TLS session resumption for a client (RFC 8446 §2.2, RFC 5077). swift-nio-ssl has no API for it, so this calls its BoringSSL.
//
// The BoringSSL functions are weak symbols. If a version of swift-nio-ssl lacks them, the program works without resumption.

/// Callbacks. They run on the connection's thread. `server` is the server name that was sent; it is valid during the call only.
typedef struct {
    /// A handshake begins. `tls_sessions_offer` may be called for `connection`.
    void (*_Nonnull begins)(void *_Nonnull owner, void *_Nonnull connection, const char *_Nonnull server);
    /// A session is available to be offered once. The owner must free it with `tls_sessions_free`. Either the server issued it,
    /// or it was resumed successfully and its version (TLS 1.2) allows it to be offered again (RFC 8446 appendix C.4).
    void (*_Nonnull given)(void *_Nonnull owner, void *_Nonnull connection, const char *_Nonnull server,
                           void *_Nonnull session);
    /// The context was freed.
    void (*_Nonnull ended)(void *_Nonnull owner);
} TLSSessionCalls;

/// Registers callbacks for all connections of `context`, an `SSL_CTX *`. Returns false if that is not possible; `ended` is then
/// not called.
bool tls_sessions_follow(void *_Nonnull context, void *_Nonnull owner, TLSSessionCalls calls);

/// The key exchange group that the server of a connection chose (RFC 8446 §4.2.7); 0 if there is none.
uint16_t tls_sessions_group(void *_Nonnull connection);

/// Offers a session. Unless `group` is 0, the only key share is one for that group.
void tls_sessions_offer(void *_Nonnull connection, void *_Nonnull session, uint16_t group);

/// Frees a session received by `given`.
void tls_sessions_free(void *_Nonnull session);
