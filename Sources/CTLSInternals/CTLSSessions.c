// SPDX-License-Identifier: Apache-2.0

#include "CTLSSessions.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

// swift-nio-ssl prefixes all symbols of its BoringSSL. These declarations match its ssl.h.
#define BORINGSSL(name) CNIOBoringSSL_##name
#define OF_BORINGSSL __attribute__((weak))

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_session_st SSL_SESSION;
typedef struct crypto_ex_data_st CRYPTO_EX_DATA;
typedef void CRYPTO_EX_free(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long argl, void *argp);

enum {
    SSL_SESS_CACHE_CLIENT = 1,
    SSL_CB_HANDSHAKE_START = 0x10,
    SSL_CB_HANDSHAKE_DONE = 0x20,
    TLSEXT_NAMETYPE_host_name = 0
};

OF_BORINGSSL int BORINGSSL(SSL_CTX_get_ex_new_index)(long, void *, void *, void *, CRYPTO_EX_free *);
OF_BORINGSSL int BORINGSSL(SSL_CTX_set_ex_data)(SSL_CTX *, int, void *);
OF_BORINGSSL void *BORINGSSL(SSL_CTX_get_ex_data)(const SSL_CTX *, int);
OF_BORINGSSL int BORINGSSL(SSL_CTX_set_session_cache_mode)(SSL_CTX *, int);
OF_BORINGSSL void BORINGSSL(SSL_CTX_sess_set_new_cb)(SSL_CTX *, int (*)(SSL *, SSL_SESSION *));
OF_BORINGSSL void BORINGSSL(SSL_CTX_set_info_callback)(SSL_CTX *, void (*)(const SSL *, int, int));
OF_BORINGSSL SSL_CTX *BORINGSSL(SSL_get_SSL_CTX)(const SSL *);
OF_BORINGSSL const char *BORINGSSL(SSL_get_servername)(const SSL *, int);
OF_BORINGSSL uint16_t BORINGSSL(SSL_get_group_id)(const SSL *);
OF_BORINGSSL int BORINGSSL(SSL_session_reused)(const SSL *);
OF_BORINGSSL SSL_SESSION *BORINGSSL(SSL_get1_session)(SSL *);
OF_BORINGSSL int BORINGSSL(SSL_set_session)(SSL *, SSL_SESSION *);
OF_BORINGSSL int BORINGSSL(SSL_set1_client_key_shares)(SSL *, const uint16_t *, size_t);
OF_BORINGSSL int BORINGSSL(SSL_SESSION_should_be_single_use)(const SSL_SESSION *);
OF_BORINGSSL void BORINGSSL(SSL_SESSION_free)(SSL_SESSION *);

typedef struct {
    void *owner;
    TLSSessionCalls calls;
} Follower;

/// The ex_data index of a context's follower.
static int slot = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
    Follower *follower = value;
    if (!follower) return;
    follower->calls.ended(follower->owner);
    free(follower);
}

static void make_slot(void) { slot = BORINGSSL(SSL_CTX_get_ex_new_index)(0, NULL, NULL, NULL, end); }

/// The follower of a connection; NULL if the connection sends no server name.
static Follower *find(const SSL *connection, const char **server) {
    *server = BORINGSSL(SSL_get_servername)(connection, TLSEXT_NAMETYPE_host_name);
    return *server ? BORINGSSL(SSL_CTX_get_ex_data)(BORINGSSL(SSL_get_SSL_CTX)(connection), slot) : NULL;
}

static int take(SSL *connection, SSL_SESSION *session) {
    const char *server;
    Follower *follower = find(connection, &server);
    if (!follower) return 0;
    follower->calls.given(follower->owner, connection, server, session);
    return 1;
}

static void tell(const SSL *connection, int type, int value) {
    if (type != SSL_CB_HANDSHAKE_START && type != SSL_CB_HANDSHAKE_DONE) return;
    SSL *ssl = (SSL *)connection;
    if (type == SSL_CB_HANDSHAKE_START) {
        const char *server;
        Follower *follower = find(ssl, &server);
        if (follower) follower->calls.begins(follower->owner, ssl, server);
    } else if (BORINGSSL(SSL_session_reused)(ssl)) {
        // The resumption succeeded, so the session may be offered again.
        SSL_SESSION *session = BORINGSSL(SSL_get1_session)(ssl);
        if (session && (BORINGSSL(SSL_SESSION_should_be_single_use)(session) || !take(ssl, session)))
            BORINGSSL(SSL_SESSION_free)(session);
    }
}

static bool knows_sessions(void) {
    return BORINGSSL(SSL_CTX_get_ex_new_index) && BORINGSSL(SSL_CTX_set_ex_data) && BORINGSSL(SSL_CTX_get_ex_data)
        && BORINGSSL(SSL_CTX_set_session_cache_mode) && BORINGSSL(SSL_CTX_sess_set_new_cb)
        && BORINGSSL(SSL_CTX_set_info_callback) && BORINGSSL(SSL_get_SSL_CTX) && BORINGSSL(SSL_get_servername)
        && BORINGSSL(SSL_get_group_id) && BORINGSSL(SSL_session_reused) && BORINGSSL(SSL_get1_session)
        && BORINGSSL(SSL_set_session) && BORINGSSL(SSL_set1_client_key_shares)
        && BORINGSSL(SSL_SESSION_should_be_single_use) && BORINGSSL(SSL_SESSION_free);
}

bool tls_sessions_follow(void *context, void *owner, TLSSessionCalls calls) {
    if (!knows_sessions()) return false;
    pthread_once(&once, make_slot);
    Follower *follower = malloc(sizeof *follower);
    if (!follower) return false;
    *follower = (Follower){owner, calls};
    if (slot < 0 || !BORINGSSL(SSL_CTX_set_ex_data)(context, slot, follower)) {
        free(follower);
        return false;
    }
    BORINGSSL(SSL_CTX_set_session_cache_mode)(context, SSL_SESS_CACHE_CLIENT);
    BORINGSSL(SSL_CTX_sess_set_new_cb)(context, take);
    BORINGSSL(SSL_CTX_set_info_callback)(context, tell);
    return true;
}

uint16_t tls_sessions_group(void *connection) { return BORINGSSL(SSL_get_group_id)(connection); }

void tls_sessions_offer(void *connection, void *session, uint16_t group) {
    BORINGSSL(SSL_set_session)(connection, session);
    if (group) BORINGSSL(SSL_set1_client_key_shares)(connection, &group, 1);
}

void tls_sessions_free(void *session) { BORINGSSL(SSL_SESSION_free)(session); }
