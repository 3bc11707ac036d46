/* SPDX-License-Identifier: Apache-2.0 */
/* What tls.c, which makes one, and tls_client.c, which judges clients by it, share. */
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
    int64_t *ca_ends_s; /* owned: when each CA for clients ends */
    size_t ca_count;
    const char *names[TLS_NAMES_MAX]; /* owned */
    size_t name_count;
};

/* Returns the bytes of @b as GnuTLS takes them. */
static inline gnutls_datum_t tls_datum(const struct buf *b)
{
    return (gnutls_datum_t){ (unsigned char *)b->p, (unsigned)b->n };
}

/* Takes the CAs for clients out of @m. 0, or -errno with @err. */
int tls_set_client_ca(struct tls *t, const struct tls_config *c, const struct tls_material *m,
                      struct error *err);
/* Has the handshake ask for a certificate, and verify it. */
void tls_ask_client(const struct tls *t, gnutls_session_t session);
