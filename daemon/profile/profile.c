/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a published profile. */
#include "profile/profile.h"

struct profile *profile_ref(struct profile *p)
{
    if (p)
        __atomic_add_fetch((unsigned *)&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

struct profile *profile_unref(struct profile *p)
{
    if (!p || __atomic_sub_fetch((unsigned *)&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return NULL;
    intern_free(p->strings);
    free(p->modules);
    free(p->functions);
    free(p->frames);
    free(p->stacks);
    free(p->processes);
    free(p->threads);
    free(p->samples);
    for (size_t i = 0; i < p->warning_count; i++)
        free(p->warnings[i]);
    free(p);
    return NULL;
}
