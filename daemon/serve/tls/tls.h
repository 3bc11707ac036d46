/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate, key and handshake rules of TLS connections. Immutable and reference-counted: a
 * connection keeps the set that it began with, so a new certificate disturbs no request. Thread:
 * any.
 */
#pragma once

#include "access/certificate.h"
#include "base/buf.h"
#include "serve/tls/tls_config.h"

#define TLS_FILE_MAX_BYTES ((size_t)256 << 10)
#define TLS_NAMES_MAX 64 /* DNS names of the certificate, which Host may name */
#define TLS_DIGEST_BYTES 32

struct tls;

/* Contents of the files, in PEM. */
struct tls_material {
    struct buf files[TLS_FILE_END]; /* owned; TLS_FILE_CONFIG is empty */
};
void tls_material_init(struct tls_material *m);
void tls_material_deinit(struct tls_material *m); /* overwrites the key */

/* Creates a set from @m, which stays the caller's. Return: 0 and *ret (owned, tls_unref()); -EINVAL
 * with a sentence for files that are wrong or do not belong together; -ENOMEM. */
int tls_new(const struct tls_config *c, const struct tls_material *m, struct tls **ret,
            struct error *err);
struct tls *tls_ref(struct tls *t);
struct tls *tls_unref(struct tls *t); /* returns NULL */

/* Returns whether @t was created from the same contents as @m. */
bool tls_is_of(const struct tls *t, const struct tls_material *m);
/* Returns when its certificate expires, in seconds since 1970. */
int64_t tls_expires_s(const struct tls *t);
/* Returns the DNS names of its certificate, valid as long as @t. */
const char *const *tls_names(const struct tls *t, size_t *ret_count);

/* Prepares a connection before anything is read from it. @session is GnuTLS's. 0 or -EPROTO. */
int tls_begin(const struct tls *t, void *session);
/* Makes @t the credentials of an established connection, which it must outlive. 0 or -EPROTO. */
int tls_change(const struct tls *t, void *session);
/* Returns whether @a and @b demand the same of clients and trust the same CAs for them. */
bool tls_same_clients(const struct tls *a, const struct tls *b);

/* Verifies the certificate that the client presented in the handshake, at the present time; takes
 * some 100 us. Return: 0 and the names in the certificate; TLS_LOOK_NONE: no certificate, or
 * certificates are not verified; -EACCES: a handshake would now fail. *ret_until_s: when to verify
 * again, in seconds since 1970. */
int tls_look(const struct tls *t, void *session, struct certificate_names *ret,
             int64_t *ret_until_s);
#define TLS_LOOK_NONE 1
/* Returns a certificate callback for the HTTP library that provides no certificate. */
void *tls_no_certificate(void);
