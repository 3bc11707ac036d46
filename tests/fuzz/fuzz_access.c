/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of `access` in a YAML file, and the same bytes as a token of a client. */
#include "access/access_rules.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_name(const char *name)
{
    size_t n = strlen(name);

    return n >= 1 && n <= ACCESS_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static void check(const struct access_rules *rules)
{
    if (rules->count > ACCESS_RULES_MAX)
        abort();
    for (size_t i = 0; i < rules->count; i++) {
        const struct access_rule *r = &rules->rules[i];

        if (!is_name(r->name) || r->role < ROLE_HEALTH || r->role > ROLE_MANAGE ||
            strnlen(r->user, sizeof(r->user)) == sizeof(r->user))
            abort();
        for (size_t j = 0; j < i; j++) {
            if (strcmp(rules->rules[j].name, r->name) == 0)
                abort();
        }
    }
}

/* No token of the fuzzer has a hash that the file contains, unless the file contains the whole
 * token. */
static void check_token(const struct access_rules *rules, struct span text)
{
    const struct access_rule *found = access_rules_token(rules, text);

    if (found && (found->user[0] || text.n > ACCESS_TOKEN_TEXT || text.n == 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size }, first = { text.p, span_find(text, '\n') };
    struct access_rules *rules = NULL;
    struct error err = ERROR_NULL;
    int r = access_rules_parse(text, "fuzz.yaml", &rules, &err);

    if ((r < 0) != (err.msg[0] != '\0') || (r < 0 && rules))
        abort();
    if (rules)
        check(rules);
    check_token(rules, text);
    check_token(rules, first);
    access_rules_user(rules, 1001, 1);
    access_rules_free(rules);
    return 0;
}
