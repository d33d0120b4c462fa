// SPDX-License-Identifier: Apache-2.0

#include "CTLSECH.h"

#include <string.h>

// swift-nio-ssl prefixes all symbols of its BoringSSL. These declarations match its ssl.h, hpke.h and mem.h.
#define BORINGSSL(name) CNIOBoringSSL_##name
#define OF_BORINGSSL __attribute__((weak))

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_ech_keys_st SSL_ECH_KEYS;
typedef struct evp_hpke_key_st EVP_HPKE_KEY;
typedef struct evp_hpke_kem_st EVP_HPKE_KEM;

OF_BORINGSSL int BORINGSSL(SSL_set1_ech_config_list)(SSL *, const uint8_t *, size_t);
OF_BORINGSSL void BORINGSSL(SSL_set_enable_ech_grease)(SSL *, int);
OF_BORINGSSL void BORINGSSL(SSL_set_reject_unusable_ech_config)(SSL *, int);
OF_BORINGSSL int BORINGSSL(SSL_ech_accepted)(const SSL *);
OF_BORINGSSL void BORINGSSL(SSL_get0_ech_name_override)(const SSL *, const char **, size_t *);
OF_BORINGSSL void BORINGSSL(SSL_get0_ech_retry_configs)(const SSL *, const uint8_t **, size_t *);

OF_BORINGSSL SSL_ECH_KEYS *BORINGSSL(SSL_ECH_KEYS_new)(void);
OF_BORINGSSL void BORINGSSL(SSL_ECH_KEYS_free)(SSL_ECH_KEYS *);
OF_BORINGSSL int BORINGSSL(SSL_ECH_KEYS_add)(SSL_ECH_KEYS *, int, const uint8_t *, size_t, const EVP_HPKE_KEY *);
OF_BORINGSSL int BORINGSSL(SSL_CTX_set1_ech_keys)(SSL_CTX *, SSL_ECH_KEYS *);
OF_BORINGSSL int BORINGSSL(SSL_marshal_ech_config)(uint8_t **, size_t *, uint8_t, const EVP_HPKE_KEY *, const char *,
                                                   size_t);
OF_BORINGSSL const EVP_HPKE_KEM *BORINGSSL(EVP_hpke_x25519_hkdf_sha256)(void);
OF_BORINGSSL EVP_HPKE_KEY *BORINGSSL(EVP_HPKE_KEY_new)(void);
OF_BORINGSSL void BORINGSSL(EVP_HPKE_KEY_free)(EVP_HPKE_KEY *);
OF_BORINGSSL int BORINGSSL(EVP_HPKE_KEY_generate)(EVP_HPKE_KEY *, const EVP_HPKE_KEM *);
OF_BORINGSSL void BORINGSSL(OPENSSL_free)(void *);

static bool knows_ech(void) {
    return BORINGSSL(SSL_set1_ech_config_list) && BORINGSSL(SSL_set_enable_ech_grease)
        && BORINGSSL(SSL_set_reject_unusable_ech_config) && BORINGSSL(SSL_ech_accepted)
        && BORINGSSL(SSL_get0_ech_name_override) && BORINGSSL(SSL_get0_ech_retry_configs);
}

bool tls_ech_offer(void *connection, const uint8_t *list, size_t length) {
    if (!knows_ech()) return false;
    // Without this, a list without a usable configuration would lead to a handshake in the clear.
    BORINGSSL(SSL_set_reject_unusable_ech_config)(connection, 1);
    return BORINGSSL(SSL_set1_ech_config_list)(connection, list, length) == 1;
}

bool tls_ech_grease(void *connection) {
    if (!knows_ech()) return false;
    BORINGSSL(SSL_set_enable_ech_grease)(connection, 1);
    return true;
}

bool tls_ech_is_accepted(void *connection) { return knows_ech() && BORINGSSL(SSL_ech_accepted)(connection) == 1; }

bool tls_ech_is_rejected(void *connection) {
    if (!knows_ech()) return false;
    const char *name;
    size_t length = 0;
    BORINGSSL(SSL_get0_ech_name_override)(connection, &name, &length);
    return length > 0;
}

void tls_ech_retry(void *connection, const uint8_t **list, size_t *length) {
    *list = NULL;
    *length = 0;
    if (knows_ech()) BORINGSSL(SSL_get0_ech_retry_configs)(connection, list, length);
}

void *tls_ech_keys_new(void) {
    bool knows_keys = BORINGSSL(SSL_ECH_KEYS_new) && BORINGSSL(SSL_ECH_KEYS_free) && BORINGSSL(SSL_ECH_KEYS_add)
        && BORINGSSL(SSL_CTX_set1_ech_keys) && BORINGSSL(SSL_marshal_ech_config)
        && BORINGSSL(EVP_hpke_x25519_hkdf_sha256) && BORINGSSL(EVP_HPKE_KEY_new) && BORINGSSL(EVP_HPKE_KEY_free)
        && BORINGSSL(EVP_HPKE_KEY_generate) && BORINGSSL(OPENSSL_free);
    return knows_keys ? BORINGSSL(SSL_ECH_KEYS_new)() : NULL;
}

size_t tls_ech_keys_add(void *keys, uint8_t id, const char *public_name, uint8_t *config, size_t capacity) {
    EVP_HPKE_KEY *key = BORINGSSL(EVP_HPKE_KEY_new)();
    uint8_t *made = NULL;
    size_t length = 0;
    bool is_added = key && BORINGSSL(EVP_HPKE_KEY_generate)(key, BORINGSSL(EVP_hpke_x25519_hkdf_sha256)())
        && BORINGSSL(SSL_marshal_ech_config)(&made, &length, id, key, public_name, 64) && length <= capacity
        && BORINGSSL(SSL_ECH_KEYS_add)(keys, 1, made, length, key);
    if (is_added) memcpy(config, made, length);
    if (made) BORINGSSL(OPENSSL_free)(made);
    if (key) BORINGSSL(EVP_HPKE_KEY_free)(key);
    return is_added ? length : 0;
}

bool tls_ech_keys_use(void *context, void *keys) { return BORINGSSL(SSL_CTX_set1_ech_keys)(context, keys) == 1; }

void tls_ech_keys_free(void *keys) { BORINGSSL(SSL_ECH_KEYS_free)(keys); }
