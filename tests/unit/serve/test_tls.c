/* SPDX-License-Identifier: Apache-2.0 */
/* Which certificates of clients are accepted, by handshakes with GnuTLS: purposes in the whole
 * chain, names, and connections during which a certificate or CA expires. */
#include "suite.h"

#include "base/clock.h"
#include "serve/tls/tls.h"

#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct made {
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
};

struct wish {
    const char *common, *dns, *purpose;
    bool ca;
    int ends_s; /* from now; 0: in a day */
};

/* GnuTLS compares the names of a parsed certificate, not of one in the making. */
static void read_again(gnutls_x509_crt_t *crt)
{
    gnutls_datum_t der;

    ck_assert_int_eq(gnutls_x509_crt_export2(*crt, GNUTLS_X509_FMT_DER, &der), 0);
    gnutls_x509_crt_deinit(*crt);
    ck_assert_int_eq(gnutls_x509_crt_init(crt), 0);
    ck_assert_int_eq(gnutls_x509_crt_import(*crt, &der, GNUTLS_X509_FMT_DER), 0);
    gnutls_free(der.data);
}

static void make(const struct wish *w, const struct made *issuer, struct made *ret)
{
    static uint32_t serial;
    time_t now = time(NULL);

    serial++;
    ck_assert_int_eq(gnutls_x509_privkey_init(&ret->key), 0);
    ck_assert_int_eq(gnutls_x509_privkey_generate(ret->key, GNUTLS_PK_ECDSA,
                                                  GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
                                                  0),
                     0);
    ck_assert_int_eq(gnutls_x509_crt_init(&ret->crt), 0);
    gnutls_x509_crt_set_version(ret->crt, 3);
    gnutls_x509_crt_set_serial(ret->crt, &serial, sizeof(serial));
    gnutls_x509_crt_set_activation_time(ret->crt, now - 3600);
    gnutls_x509_crt_set_expiration_time(ret->crt, now + (w->ends_s ? w->ends_s : 86400));
    gnutls_x509_crt_set_dn_by_oid(ret->crt, GNUTLS_OID_X520_COMMON_NAME, 0, w->common,
                                  (unsigned)strlen(w->common));
    gnutls_x509_crt_set_key(ret->crt, ret->key);
    if (w->dns)
        gnutls_x509_crt_set_subject_alt_name(ret->crt, GNUTLS_SAN_DNSNAME, w->dns,
                                             (unsigned)strlen(w->dns), GNUTLS_FSAN_SET);
    if (w->purpose)
        gnutls_x509_crt_set_key_purpose_oid(ret->crt, w->purpose, 0);
    gnutls_x509_crt_set_basic_constraints(ret->crt, w->ca, -1);
    gnutls_x509_crt_set_key_usage(ret->crt,
                                  w->ca ? GNUTLS_KEY_KEY_CERT_SIGN : GNUTLS_KEY_DIGITAL_SIGNATURE);
    ck_assert_int_eq(gnutls_x509_crt_sign2(ret->crt, issuer ? issuer->crt : ret->crt,
                                           issuer ? issuer->key : ret->key, GNUTLS_DIG_SHA256, 0),
                     0);
    read_again(&ret->crt);
}

static void forget(struct made *m)
{
    gnutls_x509_crt_deinit(m->crt);
    gnutls_x509_privkey_deinit(m->key);
}

static void add_pem(struct buf *to, const struct made *m, bool key)
{
    gnutls_datum_t out;

    ck_assert_int_eq(key ? gnutls_x509_privkey_export2(m->key, GNUTLS_X509_FMT_PEM, &out)
                         : gnutls_x509_crt_export2(m->crt, GNUTLS_X509_FMT_PEM, &out),
                     0);
    buf_add(to, out.data, out.size);
    gnutls_free(out.data);
}

static struct made server;

static int new_tls(enum tls_client_auth auth, const struct made *const *cas, size_t ca_count,
                   struct tls **ret, struct error *err)
{
    struct tls_config config = { .client_auth = auth,
                                 .max_version = TLS_VERSION_13,
                                 .paths = { [TLS_FILE_CLIENT_CA] = "ca.pem" } };
    struct tls_material m;
    int r;

    tls_material_init(&m);
    add_pem(&m.files[TLS_FILE_CERT], &server, /* key= */ false);
    add_pem(&m.files[TLS_FILE_KEY], &server, /* key= */ true);
    for (size_t i = 0; i < ca_count; i++)
        add_pem(&m.files[TLS_FILE_CLIENT_CA], cas[i], /* key= */ false);
    r = tls_new(&config, &m, ret, err);
    tls_material_deinit(&m);
    return r;
}

static struct tls *tls_with(enum tls_client_auth auth, const struct made *ca)
{
    struct error err = ERROR_NULL;
    struct tls *t = NULL;

    ck_assert_msg(new_tls(auth, &ca, 1, &t, &err) == 0, "%s", err.msg);
    return t;
}

/* ---- a connection ---- */

struct pair {
    int fds[2];
    gnutls_certificate_credentials_t shown;
    gnutls_session_t client, server;
};

/* Shakes hands. The client shows the part of @chain that it has. False: the server refuses. */
static bool shake(struct tls *t, const struct made *const *chain, size_t n, struct pair *p)
{
    gnutls_x509_crt_t list[4];
    int r[2] = { GNUTLS_E_AGAIN, GNUTLS_E_AGAIN };
    uint64_t until_ns = clock_monotonic_ns() + 20 * NSEC_PER_SEC;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p->fds), 0);
    gnutls_certificate_allocate_credentials(&p->shown);
    for (size_t i = 0; i < n; i++)
        list[i] = chain[i]->crt;
    if (n)
        ck_assert_int_eq(gnutls_certificate_set_x509_key(p->shown, list, (int)n, chain[0]->key), 0);
    gnutls_init(&p->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_FORCE_CLIENT_CERT);
    gnutls_set_default_priority(p->client);
    gnutls_credentials_set(p->client, GNUTLS_CRD_CERTIFICATE, p->shown);
    gnutls_transport_set_int(p->client, p->fds[0]);
    gnutls_init(&p->server, GNUTLS_SERVER | GNUTLS_NONBLOCK);
    gnutls_transport_set_int(p->server, p->fds[1]);
    ck_assert_int_eq(tls_begin(t, p->server), 0);
    while ((r[0] || r[1]) && clock_monotonic_ns() < until_ns) {
        if (r[0])
            r[0] = gnutls_handshake(p->client);
        if (r[1])
            r[1] = gnutls_handshake(p->server);
        if (r[1] && gnutls_error_is_fatal(r[1]))
            break;
    }
    return r[1] == 0;
}

static void hang_up(struct pair *p)
{
    gnutls_deinit(p->client);
    gnutls_deinit(p->server);
    gnutls_certificate_free_credentials(p->shown);
    close(p->fds[0]);
    close(p->fds[1]);
}

static bool counts(struct tls *t, const struct made *const *chain, size_t n)
{
    struct certificate_names names;
    int64_t until_s;
    struct pair p;
    bool good = shake(t, chain, n, &p);

    if (good)
        ck_assert_int_eq(tls_look(t, p.server, &names, &until_s), 0);
    hang_up(&p);
    return good;
}

/* ---- tests ---- */

#define SERVERS GNUTLS_KP_TLS_WWW_SERVER
#define CLIENTS GNUTLS_KP_TLS_WWW_CLIENT

static const struct {
    const char *root, *middle, *leaf; /* purposes; NULL: any */
    bool counts;
} PURPOSES[] = {
    { NULL, NULL, NULL, true },
    { NULL, NULL, CLIENTS, true },
    { CLIENTS, CLIENTS, CLIENTS, true },
    { GNUTLS_KP_ANY, NULL, GNUTLS_KP_ANY, true },
    { NULL, GNUTLS_KP_ANY, CLIENTS, false }, /* GnuTLS accepts no "any" in the middle */
    { NULL, NULL, SERVERS, false },
    { NULL, SERVERS, CLIENTS, false },
    { SERVERS, NULL, CLIENTS, false },
    { SERVERS, CLIENTS, CLIENTS, false },
    { NULL, GNUTLS_KP_CODE_SIGNING, NULL, false },
};

static bool is_for_clients(const char *purpose)
{
    return !purpose || strcmp(purpose, CLIENTS) == 0 || strcmp(purpose, GNUTLS_KP_ANY) == 0;
}

START_TEST(the_whole_chain_is_for_clients)
{
    const struct wish root_wish = { .common = "root", .purpose = PURPOSES[_i].root, .ca = true },
                      middle_wish = { .common = "middle",
                                      .purpose = PURPOSES[_i].middle,
                                      .ca = true },
                      leaf_wish = { .common = "leaf",
                                    .dns = "a.example",
                                    .purpose = PURPOSES[_i].leaf },
                      spare_wish = { .common = "spare", .ca = true };
    struct made root, middle, leaf, spare;
    const struct made *chain[] = { &leaf, &middle, &root }, *cas[] = { &spare, &root };
    struct error err = ERROR_NULL;
    struct tls *t = NULL;

    make(&root_wish, NULL, &root);
    make(&middle_wish, &root, &middle);
    make(&leaf_wish, &middle, &leaf);
    make(&spare_wish, NULL, &spare);
    ck_assert_msg(new_tls(TLS_CLIENT_REQUIRE, cas, 2, &t, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(counts(t, chain, 2), PURPOSES[_i].counts);
    ck_assert_int_eq(counts(t, chain, 3), PURPOSES[_i].counts);
    tls_unref(t);
    /* The middle certificate as the CA: its issuer does not matter. */
    t = NULL;
    cas[0] = &middle;
    if (new_tls(TLS_CLIENT_REQUIRE, cas, 1, &t, &err) == 0)
        ck_assert_int_eq(counts(t, chain, 1), is_for_clients(PURPOSES[_i].leaf));
    else
        ck_assert_ptr_nonnull(strstr(err.msg, "is for clients"));
    ck_assert_int_eq(t != NULL, is_for_clients(PURPOSES[_i].middle));
    tls_unref(t);
    forget(&root);
    forget(&middle);
    forget(&leaf);
    forget(&spare);
}
END_TEST

START_TEST(the_common_name_is_none)
{
    const struct wish root_wish = { .common = "root", .ca = true },
                      old_wish = { .common = "ops.example" },
                      new_wish = { .common = "ops.example", .dns = "a.example" };
    struct made root, leaf[2];
    struct certificate_names names;
    gnutls_datum_t der;

    make(&root_wish, NULL, &root);
    make(&old_wish, &root, &leaf[0]);
    make(&new_wish, &root, &leaf[1]);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(gnutls_x509_crt_export2(leaf[i].crt, GNUTLS_X509_FMT_DER, &der), 0);
        ck_assert(certificate_read(der.data, der.size, &names));
        ck_assert_uint_eq(names.count, i);
        ck_assert(!certificate_has(&names, "ops.example"));
        ck_assert_int_eq(certificate_has(&names, "a.example"), i == 1);
        gnutls_free(der.data);
        forget(&leaf[i]);
    }
    forget(&root);
}
END_TEST

/* Sends a text in each direction. */
static void talk(struct pair *p)
{
    const gnutls_session_t ends[] = { p->client, p->server };

    for (size_t i = 0; i < 2; i++) {
        uint64_t until_ns = clock_monotonic_ns() + 20 * NSEC_PER_SEC;
        char text[8] = "";
        ssize_t n;

        ck_assert_int_eq(gnutls_record_send(ends[i], "hello", 6), 6);
        do
            n = gnutls_record_recv(ends[1 - i], text, sizeof(text));
        while (n == GNUTLS_E_AGAIN && clock_monotonic_ns() < until_ns);
        ck_assert_int_eq(n, 6);
        ck_assert_str_eq(text, "hello");
    }
}

/* The certificate that a connection began with may be gone. */
START_TEST(a_connection_goes_on_with_another)
{
    const struct wish root_wish = { .common = "root", .ca = true },
                      leaf_wish = { .common = "leaf", .dns = "a.example" };
    struct made root, leaf;
    const struct made *chain[] = { &leaf };
    struct certificate_names names;
    struct tls *t, *next;
    int64_t until_s;
    struct pair p;

    make(&root_wish, NULL, &root);
    make(&leaf_wish, &root, &leaf);
    t = tls_with(TLS_CLIENT_REQUIRE, &root);
    ck_assert(shake(t, chain, 1, &p));
    for (int i = 0; i < 3; i++) {
        talk(&p);
        next = tls_with(TLS_CLIENT_REQUIRE, &root);
        ck_assert_int_eq(tls_change(next, p.server), 0);
        tls_unref(t);
        t = next;
        ck_assert_int_eq(tls_look(t, p.server, &names, &until_s), 0);
        talk(&p);
    }
    hang_up(&p);
    tls_unref(t);
    forget(&root);
    forget(&leaf);
}
END_TEST

START_TEST(it_is_judged_again_by_what_is_in_force)
{
    const struct wish root_wish = { .common = "root", .ca = true },
                      other_wish = { .common = "other", .ca = true },
                      leaf_wish = { .common = "leaf", .dns = "a.example" };
    struct made root, other, leaf;
    const struct made *chain[] = { &leaf };
    struct tls *first, *same, *removed, *required, *none;
    struct certificate_names names;
    struct pair p, silent;
    int64_t until_s = 0;

    make(&root_wish, NULL, &root);
    make(&other_wish, NULL, &other);
    make(&leaf_wish, &root, &leaf);
    first = tls_with(TLS_CLIENT_VERIFY_IF_GIVEN, &root);
    same = tls_with(TLS_CLIENT_VERIFY_IF_GIVEN, &root);
    removed = tls_with(TLS_CLIENT_VERIFY_IF_GIVEN, &other);
    required = tls_with(TLS_CLIENT_REQUIRE, &root);
    none = tls_with(TLS_CLIENT_NONE, &root);
    ck_assert(tls_same_clients(first, same));
    ck_assert(!tls_same_clients(first, removed));
    ck_assert(!tls_same_clients(first, required));

    ck_assert(shake(first, chain, 1, &p));
    ck_assert_int_eq(tls_look(first, p.server, &names, &until_s), 0);
    ck_assert(certificate_has(&names, "a.example"));
    ck_assert_int_ge(until_s, time(NULL) + 80000);
    ck_assert_int_le(until_s, time(NULL) + 86400);
    ck_assert_int_eq(tls_change(same, p.server), 0);
    ck_assert_int_eq(tls_look(same, p.server, &names, &until_s), 0);
    ck_assert_int_eq(tls_change(removed, p.server), 0);
    ck_assert_int_eq(tls_look(removed, p.server, &names, &until_s), -EACCES);
    ck_assert_int_eq(tls_change(none, p.server), 0);
    ck_assert_int_eq(tls_look(none, p.server, &names, &until_s), TLS_LOOK_NONE);
    ck_assert_int_eq(tls_change(required, p.server), 0);
    ck_assert_int_eq(tls_look(required, p.server, &names, &until_s), 0);

    ck_assert(shake(first, NULL, 0, &silent));
    ck_assert_int_eq(tls_look(first, silent.server, &names, &until_s), TLS_LOOK_NONE);
    ck_assert_int_eq(until_s, INT64_MAX);
    ck_assert_int_eq(tls_change(required, silent.server), 0);
    ck_assert_int_eq(tls_look(required, silent.server, &names, &until_s), -EACCES);
    hang_up(&p);
    hang_up(&silent);
    tls_unref(first);
    tls_unref(same);
    tls_unref(removed);
    tls_unref(required);
    tls_unref(none);
    forget(&root);
    forget(&other);
    forget(&leaf);
}
END_TEST

/* A chain with parts that expire in @root_s, @middle_s and @leaf_s. */
struct ending {
    int root_s, middle_s, leaf_s;
    struct made root, middle, leaf;
    struct tls *t;
    struct pair p;
    int64_t until_s;
};

static void begin(struct ending *e)
{
    const struct wish root = { .common = "root", .ca = true, .ends_s = e->root_s },
                      middle = { .common = "middle", .ca = true, .ends_s = e->middle_s },
                      leaf = { .common = "leaf", .dns = "a", .ends_s = e->leaf_s };
    const struct made *chain[] = { &e->leaf, &e->middle };
    struct certificate_names names;

    make(&root, NULL, &e->root);
    make(&middle, &e->root, &e->middle);
    make(&leaf, &e->middle, &e->leaf);
    e->t = tls_with(TLS_CLIENT_VERIFY_IF_GIVEN, &e->root);
    ck_assert(shake(e->t, chain, 2, &e->p));
    ck_assert_int_eq(tls_look(e->t, e->p.server, &names, &e->until_s), 0);
}

static void end(struct ending *e)
{
    struct certificate_names names;

    while (time(NULL) <= e->until_s)
        usleep(50000);
    ck_assert_int_eq(tls_look(e->t, e->p.server, &names, &e->until_s), -EACCES);
    hang_up(&e->p);
    tls_unref(e->t);
    forget(&e->root);
    forget(&e->middle);
    forget(&e->leaf);
}

#define SOON_S 5

START_TEST(it_ends_in_the_middle_of_a_connection)
{
    struct ending of[] = { { .root_s = SOON_S }, { .middle_s = SOON_S }, { .leaf_s = SOON_S } };
    time_t begun = time(NULL);

    for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
        begin(&of[i]);
        ck_assert_int_ge(of[i].until_s, begun + SOON_S);
        ck_assert_int_le(of[i].until_s, time(NULL) + SOON_S);
    }
    for (size_t i = 0; i < ARRAY_SIZE(of); i++)
        end(&of[i]);
}
END_TEST

static void start(void)
{
    const struct wish w = { .common = "server", .dns = "localhost" };

    make(&w, NULL, &server);
}

static void stop(void)
{
    forget(&server);
}

int main(void)
{
    Suite *s = suite_create("tls");
    TCase *tc = tcase_create("tls");

    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, the_whole_chain_is_for_clients, 0, ARRAY_SIZE(PURPOSES));
    tcase_add_test(tc, the_common_name_is_none);
    tcase_add_test(tc, a_connection_goes_on_with_another);
    tcase_add_test(tc, it_is_judged_again_by_what_is_in_force);
    tcase_add_test(tc, it_ends_in_the_middle_of_a_connection);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
