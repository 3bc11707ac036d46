/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a TLS connection begins with: the certificate, its key and the rules of the handshake.
 * Immutable and counted: a connection keeps the one that it began with, so that a new certificate
 * disturbs no request. Thread: any.
 */
#pragma once

#include "access/certificate.h"
#include "base/buf.h"
#include "serve/tls/tls_config.h"

#define TLS_FILE_MAX_BYTES ((size_t)256 << 10)
#define TLS_NAMES_MAX 64 /* of the certificate, that requests may name in Host */
#define TLS_DIGEST_BYTES 32

struct tls;

/* The files' contents, in PEM. */
struct tls_material {
    struct buf files[TLS_FILE_END]; /* owned; that of the configuration is empty */
};
void tls_material_init(struct tls_material *m);
void tls_material_deinit(struct tls_material *m); /* overwrites the key */

/* Makes one of @m, which is the caller's. 0 and *ret (owned, tls_unref()); -EINVAL with a sentence
 * for files that are wrong or do not belong together; -ENOMEM. */
int tls_new(const struct tls_config *c, const struct tls_material *m, struct tls **ret,
            struct error *err);
struct tls *tls_ref(struct tls *t);
struct tls *tls_unref(struct tls *t); /* NULL */

/* Returns whether it was made of just @m. */
bool tls_is_of(const struct tls *t, const struct tls_material *m);
/* When its certificate ends, in seconds since 1970. */
int64_t tls_expires_s(const struct tls *t);
/* The names that its certificate is for; live as long as @t. */
const char *const *tls_names(const struct tls *t, size_t *ret_count);

/* Prepares a connection before anything is read from it; @session is GnuTLS's. 0 or -EPROTO. */
int tls_begin(const struct tls *t, void *session);
/* Judges a connection that there is by @t from now on, which must then live as long as it. 0 or
 * -EPROTO. */
int tls_change(const struct tls *t, void *session);
/* Returns whether @a and @b ask the same of clients, and have the same CAs for them. */
bool tls_same_clients(const struct tls *a, const struct tls *b);

/* Verifies what the client has shown in the handshake, as of now: some 100 us. 0 and the names in
 * its certificate; TLS_LOOK_NONE: it showed none, or none is verified; -EACCES: the handshake would
 * not be let through any more. *ret_until_s: when to look again, in seconds since 1970. */
int tls_look(const struct tls *t, void *session, struct certificate_names *ret,
             int64_t *ret_until_s);
#define TLS_LOOK_NONE 1
/* Returns what the HTTP library gets in place of a certificate: a function that gives none. */
void *tls_no_certificate(void);
