/* SPDX-License-Identifier: Apache-2.0 */
#include "access/basic.h"

#include "base/lock.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <sys/random.h>

#define KNOWN_MAX 64 /* correct passwords in the cache; the oldest goes first */
#define KEYED_BYTES 32

struct passwords {
    pthread_mutex_t lock;
    uint8_t key[KEYED_BYTES]; /* random key of this process: a leaked cache reveals no password */
    uint8_t known[KNOWN_MAX][KEYED_BYTES];
    size_t known_count, next;
};

struct passwords *passwords_new(void)
{
    struct passwords *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    if (getrandom(p->key, sizeof(p->key), 0) != sizeof(p->key))
        return passwords_free(p);
    return p;
}

struct passwords *passwords_free(struct passwords *p)
{
    if (!p)
        return NULL;
    pthread_mutex_destroy(&p->lock);
    explicit_bzero(p, sizeof(*p));
    free(p);
    return NULL;
}

static bool keyed(const struct passwords *p, const char *a, const char *b, uint8_t ret[KEYED_BYTES])
{
    char text[ACCESS_BCRYPT_TEXT + ACCESS_SHOWN_MAX + BASIC_PASSWORD_MAX + 2];
    size_t n = strlen(a) + 1, m = strlen(b);
    bool good;

    memcpy(text, a, n);
    memcpy(text + n, b, m);
    good = gnutls_hmac_fast(GNUTLS_MAC_SHA256, p->key, sizeof(p->key), text, n + m, ret) == 0;
    explicit_bzero(text, sizeof(text));
    return good;
}

/* Returns the rule for @name. An unknown name gets some other user's rule, always the same one, so
 * that the answer takes as long as for a real user. NULL: no users. */
static const struct access_rule *rule_of(const struct passwords *p,
                                         const struct access_rules *rules, const char *name,
                                         bool *ret_real)
{
    const struct access_rule *found = NULL, *decoy = NULL;
    uint8_t hash[KEYED_BYTES] = { 0 };
    uint32_t number, count = 0, at;

    for (size_t i = 0; rules && i < rules->count; i++)
        count += rules->rules[i].by == ACCESS_BY_BASIC;
    if (!count || !keyed(p, "name", name, hash))
        return NULL;
    memcpy(&number, hash, sizeof(number));
    at = number % count;
    for (size_t i = 0; i < rules->count; i++) {
        const struct access_rule *rule = &rules->rules[i];

        if (rule->by != ACCESS_BY_BASIC)
            continue;
        if (at-- == 0)
            decoy = rule;
        if (strcmp(rule->shown, name) == 0)
            found = rule;
    }
    *ret_real = found != NULL;
    return found ? found : decoy;
}

const struct access_rule *passwords_known(struct passwords *p, const struct access_rules *rules,
                                          const struct basic *b)
{
    bool real = false, found = false;
    const struct access_rule *rule = rule_of(p, rules, b->name, &real);
    uint8_t hash[KEYED_BYTES];

    if (!rule || !keyed(p, rule->bcrypt, b->password, hash))
        return NULL;
    LOCK_SCOPE(&p->lock);
    for (size_t i = 0; i < p->known_count; i++)
        found |= gnutls_memcmp(p->known[i], hash, sizeof(hash)) == 0;
    return real && found ? rule : NULL;
}

static void keep(struct passwords *p, const struct access_rule *rule, const struct basic *b)
{
    uint8_t hash[KEYED_BYTES];

    if (!keyed(p, rule->bcrypt, b->password, hash))
        return;
    LOCK_SCOPE(&p->lock);
    memcpy(p->known[p->next], hash, sizeof(hash));
    p->next = (p->next + 1) % KNOWN_MAX;
    p->known_count = MIN(p->known_count + 1, (size_t)KNOWN_MAX);
}

const struct access_rule *passwords_check(struct passwords *p, const struct access_rules *rules,
                                          const struct basic *b)
{
    bool real = false, right = false;
    const struct access_rule *rule = rule_of(p, rules, b->name, &real);
    struct crypt_data *data;
    const char *made;

    if (!rule)
        return NULL;
    data = calloc(1, sizeof(*data));
    if (!data)
        return NULL;
    made = crypt_r(b->password, rule->bcrypt, data);
    if (made && strlen(made) == ACCESS_BCRYPT_TEXT)
        right = gnutls_memcmp(made, rule->bcrypt, ACCESS_BCRYPT_TEXT) == 0;
    explicit_bzero(data, sizeof(*data));
    free(data);
    if (!right || !real)
        return NULL;
    keep(p, rule, b);
    return rule;
}
