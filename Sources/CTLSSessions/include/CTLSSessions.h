// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>
#include <stdint.h>

// TLS sessions of a client (RFC 8446 §2.2, RFC 5077), for which swift-nio-ssl has no call: what its BoringSSL says of them.
//
// Its functions are looked for when the program is linked. A version that has them no more leaves a program that works and
// resumes nothing.

/// Who is told. The calls come on the thread of the connection, `server` is its name as it was sent, and lives as long as the call.
typedef struct {
    /// A handshake begins: `tls_sessions_offer` may be called for `connection`.
    void (*_Nonnull begins)(void *_Nonnull owner, void *_Nonnull connection, const char *_Nonnull server);
    /// There is a session to offer once, which the owner frees by `tls_sessions_free`: the server gave it, or it was offered,
    /// proved good and is of a version (TLS 1.2) whose sessions may be offered again (RFC 8446 appendix C.4).
    void (*_Nonnull given)(void *_Nonnull owner, void *_Nonnull connection, const char *_Nonnull server,
                           void *_Nonnull session);
    /// The context is gone.
    void (*_Nonnull ended)(void *_Nonnull owner);
} TLSSessionCalls;

/// Follows the sessions of all connections of a context, an `SSL_CTX *`. False where that is not possible; then `ended` is not
/// called.
bool tls_sessions_follow(void *_Nonnull context, void *_Nonnull owner, TLSSessionCalls calls);

/// The group of the key exchange that a connection's server chose (RFC 8446 §4.2.7); 0 where there is none.
uint16_t tls_sessions_group(void *_Nonnull connection);

/// Offers a session, and a key for one group only, where `group` is not 0.
void tls_sessions_offer(void *_Nonnull connection, void *_Nonnull session, uint16_t group);

/// Ends the use of a session that was given.
void tls_sessions_free(void *_Nonnull session);
