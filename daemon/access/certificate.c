/* SPDX-License-Identifier: Apache-2.0 */
#include "access/certificate.h"

#include <gnutls/x509.h>
#include <strings.h>

#define ALTERNATIVES_LOOKED_AT 64

static bool is_printable(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] < ' ' || p[i] > '~')
            return false;
    }
    return n > 0;
}

static void add(struct certificate_names *to, enum certificate_kind kind, const char *p, size_t n)
{
    struct certificate_name *name = &to->names[to->count];

    if (to->count == CERTIFICATE_NAMES_MAX || n > ACCESS_SHOWN_MAX || !is_printable(p, n))
        return;
    name->kind = kind;
    span_copy((struct span){ p, n }, name->text, sizeof(name->text));
    to->count++;
}

/* Ignores the common name: a CA's name constraints need not cover it. */
static void read_alternatives(gnutls_x509_crt_t crt, struct certificate_names *ret)
{
    for (unsigned i = 0; i < ALTERNATIVES_LOOKED_AT; i++) {
        char text[1024];
        size_t n = sizeof(text);
        int type = gnutls_x509_crt_get_subject_alt_name(crt, i, text, &n, NULL);

        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return;
        if (type == GNUTLS_SAN_DNSNAME)
            add(ret, CERTIFICATE_DNS, text, n);
        else if (type == GNUTLS_SAN_URI)
            add(ret, CERTIFICATE_URI, text, n);
        else if (type == GNUTLS_SAN_RFC822NAME)
            add(ret, CERTIFICATE_EMAIL, text, n);
    }
}

bool certificate_read(const void *der, size_t n, struct certificate_names *ret)
{
    gnutls_datum_t data = { (unsigned char *)(uintptr_t)der, (unsigned)n };
    gnutls_x509_crt_t crt;
    bool good;

    ret->count = 0;
    if (gnutls_x509_crt_init(&crt) < 0)
        return false;
    good = gnutls_x509_crt_import(crt, &data, GNUTLS_X509_FMT_DER) == 0;
    if (good)
        read_alternatives(crt, ret);
    gnutls_x509_crt_deinit(crt);
    return good;
}

bool certificate_has(const struct certificate_names *names, const char *name)
{
    bool uri = strchr(name, ':'), email = !uri && strchr(name, '@');

    for (size_t i = 0; i < names->count; i++) {
        const struct certificate_name *have = &names->names[i];

        if (have->kind == CERTIFICATE_DNS) {
            if (!uri && !email && strcasecmp(have->text, name) == 0)
                return true;
        } else if (strcmp(have->text, name) == 0 && uri == (have->kind == CERTIFICATE_URI) &&
                   email == (have->kind == CERTIFICATE_EMAIL)) {
            return true;
        }
    }
    return false;
}

const struct access_rule *certificate_rule(const struct certificate_names *names,
                                           const struct access_rules *rules)
{
    for (size_t i = 0; rules && i < rules->count; i++) {
        const struct access_rule *rule = &rules->rules[i];

        if (rule->by == ACCESS_BY_CERTIFICATE && certificate_has(names, rule->shown))
            return rule;
    }
    return NULL;
}
