/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tls/tls_impl.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>

/* TLS 1.2 with forward secrecy and authenticated ciphers, and TLS 1.3. A client cannot renegotiate:
 * the HTTP library ends the connection. The client chooses the group, so only cheap ones are
 * allowed: one handshake with ffdhe8192 takes 0.3 s of CPU. */
#define PRIORITY                                                                                   \
    "SECURE128:-VERS-ALL%s%s:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-GROUP-ALL:+GROUP-X25519:"            \
    "+GROUP-SECP256R1:+GROUP-SECP384R1:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:"  \
    "-MAC-ALL:+AEAD:%%SERVER_PRECEDENCE"

/* ---- files ---- */

void tls_material_init(struct tls_material *m)
{
    for (size_t i = 0; i < TLS_FILE_END; i++)
        buf_init(&m->files[i], TLS_FILE_MAX_BYTES);
}

void tls_material_deinit(struct tls_material *m)
{
    for (size_t i = 0; i < TLS_FILE_END; i++) {
        if (m->files[i].p)
            explicit_bzero(m->files[i].p, m->files[i].cap);
        buf_deinit(&m->files[i]);
    }
}

static int digest_of(const struct tls_material *m, enum tls_file first,
                     uint8_t ret[TLS_DIGEST_BYTES])
{
    gnutls_hash_hd_t hash;
    int r = gnutls_hash_init(&hash, GNUTLS_DIG_SHA256);

    if (r < 0)
        return -ENOMEM;
    for (size_t i = first; i < TLS_FILE_END; i++) {
        uint64_t n = m->files[i].n;

        gnutls_hash(hash, &n, sizeof(n));
        gnutls_hash(hash, m->files[i].p, n);
    }
    gnutls_hash_deinit(hash, ret);
    return 0;
}

/* ---- creation ---- */

static int set_priority(struct tls *t, const struct tls_config *c, struct error *err)
{
    char text[sizeof(PRIORITY) + 64];

    snprintf(text, sizeof(text), PRIORITY, c->max_version >= TLS_VERSION_13 ? ":+VERS-TLS1.3" : "",
             c->min_version <= TLS_VERSION_12 ? ":+VERS-TLS1.2" : "");
    if (gnutls_priority_init(&t->priority, text, NULL) < 0)
        return error_set(err, -EINVAL, "this machine's GnuTLS has none of flamed's TLS ciphers");
    return 0;
}

static int refuse_pair(const struct tls_config *c, int r, struct error *err)
{
    const char *cert = c->paths[TLS_FILE_CERT], *key = c->paths[TLS_FILE_KEY];

    if (r == GNUTLS_E_MEMORY_ERROR)
        return error_set(err, -ENOMEM, "out of memory");
    if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return error_set(err, -EINVAL,
                         "tls_server_config: the key '%.100s' is not that of the certificate "
                         "'%.100s'",
                         key, cert);
    error_remedy(err, "both have to be PEM, the certificate with those between it and its CA, and "
                      "the key without a passphrase");
    return error_set(err, -EINVAL, "tls_server_config: '%.100s' and '%.100s' cannot be read: %s",
                     cert, key, gnutls_strerror(r));
}

/* Adds @name, of @n bytes, if a Host header can contain it. */
static void add_name(struct tls *t, const char *name, size_t n)
{
    if (n && n < 254 && t->name_count < TLS_NAMES_MAX && !memchr(name, 0, n)) {
        t->names[t->name_count] = strndup(name, n);
        t->name_count += t->names[t->name_count] != NULL;
    }
}

/* Reads the expiry and the DNS names of the certificate. */
static void describe(struct tls *t)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;

    if (gnutls_certificate_get_x509_crt(t->credentials, 0, &list, &count) < 0)
        return;
    for (unsigned i = 0; count && i < TLS_NAMES_MAX; i++) {
        char name[256];
        size_t n = sizeof(name);
        int type = gnutls_x509_crt_get_subject_alt_name(list[0], i, name, &n, NULL);

        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            break;
        if (type == GNUTLS_SAN_DNSNAME)
            add_name(t, name, n);
    }
    if (count)
        t->expires_s = (int64_t)gnutls_x509_crt_get_expiration_time(list[0]);
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
}

static int fill(struct tls *t, const struct tls_config *c, const struct tls_material *m,
                struct error *err)
{
    gnutls_datum_t cert = tls_datum(&m->files[TLS_FILE_CERT]),
                   key = tls_datum(&m->files[TLS_FILE_KEY]);
    int r = gnutls_certificate_allocate_credentials(&t->credentials);

    if (r < 0)
        return error_set(err, -ENOMEM, "out of memory");
    r = gnutls_certificate_set_x509_key_mem2(t->credentials, &cert, &key, GNUTLS_X509_FMT_PEM, NULL,
                                             0);
    if (r < 0)
        return refuse_pair(c, r, err);
    describe(t);
    r = tls_set_client_ca(t, c, m, err);
    if (r < 0)
        return r;
    if (digest_of(m, TLS_FILE_CONFIG, t->digest) < 0 ||
        digest_of(m, TLS_FILE_CLIENT_CA, t->ca_digest) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    return set_priority(t, c, err);
}

int tls_new(const struct tls_config *c, const struct tls_material *m, struct tls **ret,
            struct error *err)
{
    struct tls *t = calloc(1, sizeof(*t));
    int r;

    if (!t)
        return error_set(err, -ENOMEM, "out of memory");
    t->refs = 1;
    r = fill(t, c, m, err);
    if (r < 0)
        tls_unref(t);
    else
        *ret = t;
    return r;
}

struct tls *tls_ref(struct tls *t)
{
    if (t)
        t->refs++;
    return t;
}

struct tls *tls_unref(struct tls *t)
{
    if (!t || --t->refs > 0)
        return NULL;
    if (t->priority)
        gnutls_priority_deinit(t->priority);
    if (t->credentials)
        gnutls_certificate_free_credentials(t->credentials);
    for (size_t i = 0; i < t->name_count; i++)
        free((char *)(uintptr_t)t->names[i]);
    free(t->ca_ends_s);
    free(t);
    return NULL;
}

/* ---- use ---- */

bool tls_is_of(const struct tls *t, const struct tls_material *m)
{
    uint8_t digest[TLS_DIGEST_BYTES];

    return digest_of(m, TLS_FILE_CONFIG, digest) == 0 &&
           memcmp(digest, t->digest, sizeof(digest)) == 0;
}

int64_t tls_expires_s(const struct tls *t)
{
    return t->expires_s;
}

const char *const *tls_names(const struct tls *t, size_t *ret_count)
{
    *ret_count = t->name_count;
    return t->names;
}

int tls_change(const struct tls *t, void *session)
{
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->credentials) < 0 ? -EPROTO
                                                                                       : 0;
}

int tls_begin(const struct tls *t, void *session)
{
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->credentials) < 0 ||
        gnutls_priority_set(session, t->priority) < 0)
        return -EPROTO;
    tls_ask_client(t, session);
    return 0;
}

static int no_certificate(gnutls_session_t session, const gnutls_datum_t *ca, int ca_count,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                          gnutls_pcert_st **pcert, unsigned *pcert_count, gnutls_privkey_t *key)
{
    (void)session, (void)ca, (void)ca_count, (void)algorithms, (void)algorithm_count;
    (void)pcert, (void)pcert_count, (void)key;
    return -1;
}

void *tls_no_certificate(void)
{
    return (void *)no_certificate;
}
