/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and verifies certificates of clients. */
#include "serve/tls/tls_impl.h"

#include <time.h>

#define PURPOSES_LOOKED_AT 32 /* key purposes read of one certificate */

/* ---- CAs ---- */

static int64_t end_of(gnutls_x509_crt_t crt)
{
    time_t end = gnutls_x509_crt_get_expiration_time(crt);

    return end < 0 ? INT64_MAX : (int64_t)end;
}

/* Returns whether @crt may be in a client's chain. The extended key usage of a CA limits the
 * certificates below it, too. */
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

/* Trusts the certificates of @list that are for clients. Returns their number, or -errno. */
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

int tls_set_client_ca(struct tls *t, const struct tls_config *c, const struct tls_material *m,
                      struct error *err)
{
    gnutls_datum_t ca = tls_datum(&m->files[TLS_FILE_CLIENT_CA]);
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

/* ---- certificates ---- */

/* Returns whether each certificate of @list, as the client sent it, is for clients; lowers *until_s
 * to the first expiry. */
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

/* Fails the handshake if a certificate is not issued by our CA, not for clients, or expired. */
static int verify_client(gnutls_session_t session)
{
    unsigned count = 0;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &count);
    int64_t until_s = INT64_MAX;

    if (!list || !count)
        return 0; /* without a required certificate, GnuTLS has already failed the handshake */
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

void tls_ask_client(const struct tls *t, gnutls_session_t session)
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
