/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/virtual_waits.h"

#include "base/cleanup.h"
#include "base/fds.h"

#include <stdlib.h>
#include <sys/stat.h>

static int compare(const void *a, const void *b)
{
    const struct yields_start *x = a, *y = b;

    return (x->tid > y->tid) - (x->tid < y->tid);
}

int known_waits_get(struct broker *b, int32_t host_pid, struct known_waits *ret)
{
    _cleanup_close_ int fd = -1;
    struct stat st;
    int r = broker_yields_waits(b, host_pid, &fd, NULL);

    *ret = (struct known_waits){ 0 };
    if (r != 0)
        return r < 0 ? r : -ESRCH;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size < 0 || (uint64_t)st.st_size > YIELDS_WAITS_MAX * sizeof(*ret->at))
        return -EBADMSG;
    ret->count = (size_t)st.st_size / sizeof(*ret->at);
    ret->at = calloc(MAX(ret->count, (size_t)1), sizeof(*ret->at));
    if (!ret->at || !fd_read_at(fd, 0, ret->at, ret->count * sizeof(*ret->at))) {
        known_waits_deinit(ret);
        return -ENOMEM;
    }
    qsort(ret->at, ret->count, sizeof(*ret->at), compare);
    return 0;
}

void known_waits_deinit(struct known_waits *k)
{
    free(k->at);
    *k = (struct known_waits){ 0 };
}

const struct yields_wait *known_waits_find(const struct known_waits *k, uint64_t tid)
{
    const struct yields_start key = { .tid = tid };
    const struct yields_start *found =
        k->count ? bsearch(&key, k->at, k->count, sizeof(*k->at), compare) : NULL;

    return found ? &found->wait : NULL;
}

static int compare_ids(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

uint64_t known_waits_unlisted(const struct known_waits *k, const struct hotspot_dump_batch *b,
                              uint64_t from_ns, uint64_t at_ns)
{
    uint64_t listed[DUMP_BATCH_THREADS], sum_ns = 0;

    for (uint32_t i = 0; i < b->count; i++)
        listed[i] = b->threads[i].java_id;
    qsort(listed, b->count, sizeof(*listed), compare_ids);
    for (size_t i = 0; i < k->count; i++) {
        const struct yields_start *s = &k->at[i];

        if (!s->wait.preempted && !bsearch(&s->tid, listed, b->count, sizeof(*listed), compare_ids))
            sum_ns += at_ns - MIN(MAX(s->wait.since_ns, from_ns), at_ns);
    }
    return sum_ns;
}
