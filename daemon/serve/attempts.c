/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/attempts.h"

static struct attempts_of *find(struct attempts *a, const struct caller *c)
{
    for (size_t i = 0; i < ATTEMPTS_CALLERS_MAX; i++) {
        if (a->of[i].used_ns && caller_equal(&a->of[i].caller, c))
            return &a->of[i];
    }
    return NULL;
}

static struct attempts_of *make(struct attempts *a, const struct caller *c, uint64_t now_ns)
{
    struct attempts_of *oldest = &a->of[0];

    for (size_t i = 0; i < ATTEMPTS_CALLERS_MAX && oldest->used_ns; i++) {
        if (!a->of[i].used_ns || a->of[i].at_ns < oldest->at_ns)
            oldest = &a->of[i];
    }
    *oldest = (struct attempts_of){ .caller = *c, .at_ns = now_ns };
    return oldest;
}

/* Gives back what came in since. */
static void refresh(struct attempts_of *of, uint64_t now_ns)
{
    if (now_ns <= of->at_ns)
        return;
    of->used_ns -= of->used_ns < now_ns - of->at_ns ? of->used_ns : now_ns - of->at_ns;
    of->at_ns = now_ns;
}

bool attempts_left(struct attempts *a, const struct caller *c, uint64_t now_ns,
                   unsigned *ret_retry_s)
{
    struct attempts_of *of = find(a, c);
    uint64_t left_ns;

    if (!of)
        return true;
    refresh(of, now_ns);
    if (of->used_ns <= (ATTEMPTS_AT_ONCE - 1) * ATTEMPT_NS)
        return true;
    left_ns = of->used_ns - (ATTEMPTS_AT_ONCE - 1) * ATTEMPT_NS;
    *ret_retry_s = (unsigned)((left_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
    return false;
}

void attempts_charge(struct attempts *a, const struct caller *c, uint64_t now_ns)
{
    struct attempts_of *of = find(a, c);

    if (!of)
        of = make(a, c, now_ns);
    refresh(of, now_ns);
    of->used_ns += ATTEMPT_NS;
}
