/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing; counters. */
#include "store/history_impl.h"

#include "base/lock.h"

int history_open(const struct history_opts *o, struct history **ret, struct error *err)
{
    struct store_opts opts = {
        .kind = STORE_HISTORY, .dir_fd = o->dir_fd, .dir = o->dir, .max_bytes = o->max_bytes
    };
    struct history *h = calloc(1, sizeof(*h));
    int r;

    if (!h)
        return error_set(err, -ENOMEM, "not enough memory for the history");
    pthread_mutex_init(&h->told.lock, NULL);
    h->max_age_ns = o->max_age_s * NSEC_PER_SEC;
    h->told.stats.max_bytes = h->stats.max_bytes = o->max_bytes;
    r = store_open(&opts, &h->store, err);
    if (r < 0) {
        history_close(h);
        return r;
    }
    h->next_image = 1;
    images_number(h, NULL);                 /* an error returns when the first minute is written */
    history_roll(h, /* now_ns= */ 0, NULL); /* rolls what the last run left; reads the sizes */
    *ret = h;
    return 0;
}

struct history *history_close(struct history *h)
{
    if (!h)
        return NULL;
    store_close(h->store);
    pthread_mutex_destroy(&h->told.lock);
    free(h);
    return NULL;
}

void history_problem(struct history *h, char *buf, size_t size)
{
    store_problem(h->store, buf, size);
}

void history_stats(struct history *h, struct history_stats *ret)
{
    LOCK_SCOPE(&h->told.lock);

    *ret = h->told.stats;
}
