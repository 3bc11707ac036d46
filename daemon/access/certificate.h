/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in a client's certificate, and which of them a rule means. The certificate was verified
 * before: names are what a CA of the configuration signed. Values; thread: any.
 */
#pragma once

#include "access/access_rules.h"

#define CERTIFICATE_NAMES_MAX 16 /* further ones are passed by */

enum certificate_kind {
    CERTIFICATE_DNS,
    CERTIFICATE_URI,
    CERTIFICATE_EMAIL,
};

struct certificate_names {
    size_t count;
    struct certificate_name {
        enum certificate_kind kind;
        char text[ACCESS_SHOWN_MAX + 1];
    } names[CERTIFICATE_NAMES_MAX];
};

/* Reads the alternative names of the certificate of @n bytes at @der. False: it is none. Names that
 * are longer than ACCESS_SHOWN_MAX, or not printable ASCII, are passed by. */
bool certificate_read(const void *der, size_t n, struct certificate_names *ret);
/* Returns whether @name of a rule is one of them. With a colon it is a URI, with an '@' an address
 * of mail, else a DNS name. */
bool certificate_has(const struct certificate_names *names, const char *name);
/* Returns the first rule for one of them; NULL: none. */
const struct access_rule *certificate_rule(const struct certificate_names *names,
                                           const struct access_rules *rules);
