// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Encrypted Client Hello (RFC 9849). swift-nio-ssl has no API for it, so this calls its BoringSSL, by weak symbols: if a version
// of swift-nio-ssl lacks them, the functions return false. A `connection` is an `SSL *`, a `context` an `SSL_CTX *`.

/// Encrypts the ClientHello of a connection, before its handshake, for the first usable configuration of an `ECHConfigList`. If
/// none is usable, the handshake fails. Returns false if the list is malformed.
bool tls_ech_offer(void *_Nonnull connection, const uint8_t *_Nonnull list, size_t length);

/// Sends a random ECH extension with the ClientHello of a connection (RFC 9849 §6.2).
bool tls_ech_grease(void *_Nonnull connection);

/// Whether the server used the encrypted ClientHello.
bool tls_ech_is_accepted(void *_Nonnull connection);

/// Whether the server used the outer ClientHello although an encrypted one was offered. It says nothing about the certificate.
bool tls_ech_is_rejected(void *_Nonnull connection);

/// The server's retry configurations, which are valid as long as the connection; empty if there are none. It may be called only
/// after the handshake failed with ECH_REJECTED: BoringSSL has then verified the certificate for the public name, unless its
/// verification is off.
void tls_ech_retry(void *_Nonnull connection, const uint8_t *_Nullable *_Nonnull list, size_t *_Nonnull length);

/// The keys of a server; NULL if BoringSSL lacks the functions for them. The caller must free them with `tls_ech_keys_free`.
void *_Nullable tls_ech_keys_new(void);

/// Adds a new key, and writes its `ECHConfig` to `config`. Returns its length; 0 on failure. Keys that are in use do not change.
size_t tls_ech_keys_add(void *_Nonnull keys, uint8_t id, const char *_Nonnull public_name, uint8_t *_Nonnull config,
                        size_t capacity);

/// Uses the keys for all later connections of a server's context. Their configurations are its retry configurations.
bool tls_ech_keys_use(void *_Nonnull context, void *_Nonnull keys);

/// Frees the keys. A context that uses them keeps them.
void tls_ech_keys_free(void *_Nonnull keys);
