/* SPDX-License-Identifier: Apache-2.0 */
/* What a client shows to say who it is: the Authorization header, with tokens and passwords. */
#include "serve/basic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span header = { (const char *)data, size }, rest = SPAN_NULL;
    struct basic b = { .name = "" };

    if (authorization_is(header, "bearer", &rest) &&
        (rest.n > size || access_rules_token(NULL, rest)))
        abort();
    if (authorization_is(header, "basic", &rest) && basic_parse(rest, &b)) {
        if (!b.name[0] || strchr(b.name, ':') || strlen(b.name) + strlen(b.password) + 1 > size)
            abort();
    }
    if (basic_hash_valid(header) && size != ACCESS_BCRYPT_TEXT)
        abort();
    return 0;
}
