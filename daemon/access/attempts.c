/* SPDX-License-Identifier: Apache-2.0 */
#include "access/attempts.h"

#include <stdio.h>
#include <string.h>

/* The name for tokens. It cannot be a user's: a name in basic authentication ends at a colon. */
#define NAME_OF_TOKENS ":token"
#define NAME_OF_ALL ":all"

/* Returns the key that attempts are counted under. */
static struct attempts_count key_of(const struct caller *c, const char *name)
{
    struct attempts_count key = { .caller = *c };

    snprintf(key.name, sizeof(key.name), "%s", name);
    return key;
}

static struct attempts_count *find(struct attempts *a, const struct attempts_count *key)
{
    for (size_t i = 0; i < ATTEMPTS_COUNTS_MAX; i++) {
        struct attempts_count *of = &a->counts[i];

        if (of->used_ns && caller_equal(&of->caller, &key->caller) &&
            strcmp(of->name, key->name) == 0)
            return of;
    }
    return NULL;
}

static struct attempts_count *make(struct attempts *a, const struct attempts_count *key,
                                   uint64_t now_ns)
{
    struct attempts_count *oldest = &a->counts[0];

    for (size_t i = 0; i < ATTEMPTS_COUNTS_MAX && oldest->used_ns; i++) {
        if (!a->counts[i].used_ns || a->counts[i].at_ns < oldest->at_ns)
            oldest = &a->counts[i];
    }
    *oldest = *key;
    oldest->at_ns = now_ns;
    return oldest;
}

/* Restores the budget for the time since the last refresh. */
static void refresh(struct attempts_count *of, uint64_t now_ns)
{
    if (now_ns <= of->at_ns)
        return;
    of->used_ns -= of->used_ns < now_ns - of->at_ns ? of->used_ns : now_ns - of->at_ns;
    of->at_ns = now_ns;
}

/* Returns true if the budget allows one more attempt. @cost_ns: the cost of an attempt; @at_once:
 * how many attempts the budget holds. */
static bool has_one(struct attempts *a, const struct attempts_count *key, uint64_t cost_ns,
                    size_t at_once, uint64_t now_ns, unsigned *ret_retry_s)
{
    struct attempts_count *of = find(a, key);
    uint64_t left_ns;

    if (!of)
        return true;
    refresh(of, now_ns);
    if (of->used_ns <= (at_once - 1) * cost_ns)
        return true;
    left_ns = of->used_ns - (at_once - 1) * cost_ns;
    *ret_retry_s = (unsigned)((left_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
    return false;
}

static void charge(struct attempts *a, const struct attempts_count *key, uint64_t cost_ns,
                   uint64_t now_ns)
{
    struct attempts_count *of = find(a, key);

    if (!of)
        of = make(a, key, now_ns);
    refresh(of, now_ns);
    of->used_ns += cost_ns;
}

bool attempts_left(struct attempts *a, const struct caller *c, const char *name, uint64_t now_ns,
                   unsigned *ret_retry_s)
{
    struct attempts_count one = key_of(c, name ? name : NAME_OF_TOKENS);
    struct attempts_count all = key_of(c, NAME_OF_ALL);

    return has_one(a, &one, ATTEMPT_NS, ATTEMPTS_AT_ONCE, now_ns, ret_retry_s) &&
           (!name || has_one(a, &all, ATTEMPT_ALL_NS, ATTEMPTS_ALL_AT_ONCE, now_ns, ret_retry_s));
}

void attempts_charge(struct attempts *a, const struct caller *c, const char *name, uint64_t now_ns)
{
    struct attempts_count one = key_of(c, name ? name : NAME_OF_TOKENS);
    struct attempts_count all = key_of(c, NAME_OF_ALL);

    charge(a, &one, ATTEMPT_NS, now_ns);
    if (name)
        charge(a, &all, ATTEMPT_ALL_NS, now_ns);
}
