/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/thread_dump.h"

#include <stdarg.h>

struct thread_dump *thread_dump_new(void)
{
    struct thread_dump *d = calloc(1, sizeof(*d));

    if (d && intern_new(THREAD_DUMP_TEXT_MAX, &d->strings) < 0)
        return thread_dump_free(d);
    return d;
}

struct thread_dump *thread_dump_free(struct thread_dump *d)
{
    if (!d)
        return NULL;
    intern_free(d->strings);
    free(d->threads);
    free(d);
    return NULL;
}

void thread_dump_warn(struct thread_dump *d, const char *fmt, ...)
{
    va_list ap;

    if (d->warning_count == THREAD_DUMP_WARNINGS)
        return;
    va_start(ap, fmt);
    vsnprintf(d->warnings[d->warning_count++], THREAD_DUMP_WARNING_BYTES, fmt, ap);
    va_end(ap);
}

ORDER_FUNCTION(by_id, struct dumped_thread, COMPARE(x->id, y->id))

void thread_dump_sort(struct thread_dump *d)
{
    if (d->count)
        qsort(d->threads, d->count, sizeof(*d->threads), by_id);
}

const struct dumped_thread *thread_dump_find(const struct thread_dump *d, uint64_t id)
{
    struct dumped_thread key = { .id = id };

    return d->count && id ? bsearch(&key, d->threads, d->count, sizeof(*d->threads), by_id) : NULL;
}
