/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <time.h>

/* TLS 1.2 with forward secrecy and authenticated ciphers, and TLS 1.3. A client cannot renegotiate:
 * the HTTP library ends the connection. */
#define PRIORITY                                                                                   \
    "SECURE128:-VERS-ALL%s%s:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:+AES-256-GCM:"            \
    "+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD:%%SERVER_PRECEDENCE"

#define PURPOSES_LOOKED_AT 32 /* of one certificate */

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

static gnutls_datum_t datum_of(const struct buf *b)
{
    return (gnutls_datum_t){ (unsigned char *)b->p, (unsigned)b->n };
}

/* ---- making one ---- */

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

/* Adds @name, of @n bytes, where it can be one in a Host header. */
static void add_name(struct tls *t, const char *name, size_t n)
{
    if (n && n < 254 && t->name_count < TLS_NAMES_MAX && !memchr(name, 0, n)) {
        t->names[t->name_count] = strndup(name, n);
        t->name_count += t->names[t->name_count] != NULL;
    }
}

/* What the certificate says of itself: until when, and whose it is. */
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

static int64_t end_of(gnutls_x509_crt_t crt)
{
    time_t end = gnutls_x509_crt_get_expiration_time(crt);

    return end < 0 ? INT64_MAX : (int64_t)end;
}

/* Whether @crt may be in a client's chain: an extended key usage limits what stands below it, too.
 */
static bool is_for_clients(gnutls_x509_crt_t crt)
{
    for (unsigned i = 0; i < PURPOSES_LOOKED_AT; i++) {
        char oid[128];
        size_t n = sizeof(oid);
        int r = gnutls_x509_crt_get_key_purpose_oid(crt, i, oid, &n, NULL);

        if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return i == 0;
        if (r == 0 &&
            (strcmp(oid, GNUTLS_KP_TLS_WWW_CLIENT) == 0 || strcmp(oid, GNUTLS_KP_ANY) == 0))
            return true;
        if (r < 0 && r != GNUTLS_E_SHORT_MEMORY_BUFFER)
            return false;
    }
    return false;
}

/* Trusts those of @list that are for clients. How many, or -errno. */
static int trust(struct tls *t, gnutls_x509_crt_t *list, unsigned count)
{
    gnutls_x509_crt_t *good = calloc(count, sizeof(*good));
    int r = -ENOMEM;

    t->ca_ends_s = calloc(count, sizeof(*t->ca_ends_s));
    for (unsigned i = 0; good && t->ca_ends_s && i < count; i++) {
        if (!is_for_clients(list[i]))
            continue;
        t->ca_ends_s[t->ca_count] = end_of(list[i]);
        good[t->ca_count++] = list[i];
    }
    if (good && t->ca_ends_s)
        r = t->ca_count &&
                    gnutls_certificate_set_x509_trust(t->credentials, good, (int)t->ca_count) < 0
                ? -EINVAL
                : (int)t->ca_count;
    free(good);
    return r;
}

static int set_client_ca(struct tls *t, const struct tls_config *c, const struct tls_material *m,
                         struct error *err)
{
    gnutls_datum_t ca = datum_of(&m->files[TLS_FILE_CLIENT_CA]);
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    int r;

    t->client_auth = c->client_auth;
    if (!tls_config_verifies(c))
        return 0;
    if (gnutls_x509_crt_list_import2(&list, &count, &ca, GNUTLS_X509_FMT_PEM, 0) < 0 || !count)
        return error_set(err, -EINVAL,
                         "tls_server_config: there is no certificate of a CA in '%.128s', in PEM",
                         c->paths[TLS_FILE_CLIENT_CA]);
    r = trust(t, list, count);
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    if (r == 0)
        return error_set(err, -EINVAL,
                         "tls_server_config: no CA in '%.128s' is for clients: their extended key "
                         "usage names other purposes",
                         c->paths[TLS_FILE_CLIENT_CA]);
    return r < 0 ? error_set(err, r, "tls_server_config: cannot use the CAs in '%.128s'",
                             c->paths[TLS_FILE_CLIENT_CA])
                 : 0;
}

static int fill(struct tls *t, const struct tls_config *c, const struct tls_material *m,
                struct error *err)
{
    gnutls_datum_t cert = datum_of(&m->files[TLS_FILE_CERT]),
                   key = datum_of(&m->files[TLS_FILE_KEY]);
    int r = gnutls_certificate_allocate_credentials(&t->credentials);

    if (r < 0)
        return error_set(err, -ENOMEM, "out of memory");
    r = gnutls_certificate_set_x509_key_mem2(t->credentials, &cert, &key, GNUTLS_X509_FMT_PEM, NULL,
                                             0);
    if (r < 0)
        return refuse_pair(c, r, err);
    describe(t);
    r = set_client_ca(t, c, m, err);
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

/* ---- what is asked of it ---- */

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

/* ---- clients ---- */

/* Whether each of @list, as the client sent it, is for clients; *until_s: when the first of them
 * ends, where that is earlier. */
static bool chain_fits(const gnutls_datum_t *list, unsigned count, int64_t *until_s)
{
    bool fits = true;

    for (unsigned i = 0; fits && i < count; i++) {
        gnutls_x509_crt_t crt;

        if (gnutls_x509_crt_init(&crt) < 0)
            return false;
        fits =
            gnutls_x509_crt_import(crt, &list[i], GNUTLS_X509_FMT_DER) == 0 && is_for_clients(crt);
        if (fits)
            *until_s = MIN(*until_s, end_of(crt));
        gnutls_x509_crt_deinit(crt);
    }
    return fits;
}

static bool verify(gnutls_session_t session, const gnutls_datum_t *list, unsigned count,
                   int64_t *until_s)
{
    gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
                                      .data =
                                          (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT };
    unsigned status = 0;

    return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0 &&
           chain_fits(list, count, until_s);
}

/* Ends the handshake where a certificate is not of our CA, not for clients, or its time is over. */
static int verify_client(gnutls_session_t session)
{
    unsigned count = 0;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &count);
    int64_t until_s = INT64_MAX;

    if (!list || !count)
        return 0; /* where one is required, the handshake has ended already */
    return verify(session, list, count, &until_s) ? 0 : -1;
}

int tls_look(const struct tls *t, void *session, struct certificate_names *ret,
             int64_t *ret_until_s)
{
    int64_t now_s = (int64_t)time(NULL), until_s = INT64_MAX;
    unsigned count = 0;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &count);

    *ret_until_s = INT64_MAX;
    if (!list || !count)
        return t->client_auth == TLS_CLIENT_REQUIRE || t->client_auth == TLS_CLIENT_REQUIRE_ANY
                   ? -EACCES
                   : TLS_LOOK_NONE;
    if (t->client_auth < TLS_CLIENT_VERIFY_IF_GIVEN)
        return TLS_LOOK_NONE;
    if (!verify(session, list, count, &until_s) ||
        !certificate_read(list[0].data, list[0].size, ret))
        return -EACCES;
    for (size_t i = 0; i < t->ca_count; i++) {
        if (t->ca_ends_s[i] >= now_s)
            until_s = MIN(until_s, t->ca_ends_s[i]);
    }
    *ret_until_s = until_s;
    return 0;
}

bool tls_same_clients(const struct tls *a, const struct tls *b)
{
    return a->client_auth == b->client_auth &&
           memcmp(a->ca_digest, b->ca_digest, sizeof(a->ca_digest)) == 0;
}

int tls_change(const struct tls *t, void *session)
{
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->credentials) < 0 ? -EPROTO
                                                                                       : 0;
}

static void ask_for_certificate(const struct tls *t, gnutls_session_t session)
{
    static const gnutls_certificate_request_t REQUESTS[] = {
        [TLS_CLIENT_NONE] = GNUTLS_CERT_IGNORE,
        [TLS_CLIENT_REQUEST] = GNUTLS_CERT_REQUEST,
        [TLS_CLIENT_REQUIRE_ANY] = GNUTLS_CERT_REQUIRE,
        [TLS_CLIENT_VERIFY_IF_GIVEN] = GNUTLS_CERT_REQUEST,
        [TLS_CLIENT_REQUIRE] = GNUTLS_CERT_REQUIRE,
    };

    gnutls_certificate_server_set_request(session, REQUESTS[t->client_auth]);
    if (t->client_auth >= TLS_CLIENT_VERIFY_IF_GIVEN)
        gnutls_session_set_verify_function(session, verify_client);
}

int tls_begin(const struct tls *t, void *session)
{
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->credentials) < 0 ||
        gnutls_priority_set(session, t->priority) < 0)
        return -EPROTO;
    ask_for_certificate(t, session);
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
