/* SPDX-License-Identifier: Apache-2.0 */
/* A client's credentials: the Authorization header, with tokens and passwords, and the same bytes
 * as the Cookie header. */
#include "access/basic.h"
#include "access/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(struct span part, struct span whole)
{
    return !part.n || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

/* Reads each cookie once, front to back. None is a session's. */
static void read_cookies(struct span header)
{
    static const struct subject BROWSER = { .kind = SUBJECT_USER, .uid = 1001 };
    static struct sessions *sessions;
    struct span rest = header, name, value, before = header;
    char ticket[SESSION_TEXT], secret[SESSION_TEXT];
    struct subject who;
    uint64_t left_ns;

    if (!sessions) {
        sessions = sessions_new();
        if (!sessions || sessions_ticket(sessions, &BROWSER, 0, ticket) != 0 ||
            sessions_login(sessions, span_of(ticket), &BROWSER, NULL, 0, secret, &who) != 0)
            abort();
    }
    while (session_cookie(&rest, &name, &value)) {
        if (!is_within(name, header) || !is_within(value, header) || !is_within(rest, before) ||
            rest.n >= before.n || span_find(name, '=') != name.n ||
            span_find(name, ';') != name.n || span_find(value, ';') != value.n ||
            sessions_find(sessions, value, &BROWSER, 0, &who, &left_ns))
            abort();
        before = rest;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span header = { (const char *)data, size }, rest = SPAN_NULL;
    struct basic b = { .name = "" };

    read_cookies(header);
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
