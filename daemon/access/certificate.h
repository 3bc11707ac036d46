/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the names in a client's certificate against rules. The certificate was verified before: a
 * CA of the configuration signed these names. Values; thread: any.
 */
#pragma once

#include "access/access_rules.h"

#define CERTIFICATE_NAMES_MAX 16 /* further names are ignored */

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

/* Reads the alternative names of the DER certificate of @n bytes at @der. Ignores names longer than
 * ACCESS_SHOWN_MAX or not printable ASCII. False: not a certificate. */
bool certificate_read(const void *der, size_t n, struct certificate_names *ret);
/* Returns whether @names has the rule's @name: a URI if it contains a colon, an e-mail address if
 * it contains an '@', else a DNS name. */
bool certificate_has(const struct certificate_names *names, const char *name);
/* Returns the first rule that one of @names matches; NULL: none. */
const struct access_rule *certificate_rule(const struct certificate_names *names,
                                           const struct access_rules *rules);
