/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by tls.c, which creates a struct tls, and tls_client.c, which verifies clients with it. */
#pragma once

#include "serve/tls/tls.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdatomic.h>

struct tls {
    _Atomic unsigned refs;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    uint8_t digest[TLS_DIGEST_BYTES], ca_digest[TLS_DIGEST_BYTES];
    int64_t expires_s;
    enum tls_client_auth client_auth;
    int64_t *ca_ends_s; /* owned: expiry of each CA for clients, in seconds since 1970 */
    size_t ca_count;
    const char *names[TLS_NAMES_MAX]; /* owned */
    size_t name_count;
};

/* Returns the bytes of @b as a datum of GnuTLS. */
static inline gnutls_datum_t tls_datum(const struct buf *b)
{
    return (gnutls_datum_t){ (unsigned char *)b->p, (unsigned)b->n };
}

/* Loads the CAs for clients from @m into @t. 0, or -errno with @err. */
int tls_set_client_ca(struct tls *t, const struct tls_config *c, const struct tls_material *m,
                      struct error *err);
/* Makes the handshake request a certificate as @t demands, and verify it. */
void tls_ask_client(const struct tls *t, gnutls_session_t session);
