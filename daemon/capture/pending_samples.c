/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/pending_samples.h"

#include "base/clock.h"

void held_init(struct held *h)
{
    *h = (struct held){ 0 };
    h->end = &h->first;
}

void held_deinit(struct held *h)
{
    while (h->first) {
        struct held_sample *s = h->first;

        h->first = s->next;
        held_free(s);
    }
    held_init(h);
}

void held_free(struct held_sample *s)
{
    if (s)
        process_unpin(s->process);
    free(s);
}

static size_t sample_bytes(const struct sample_record *rec)
{
    return sizeof(struct held_sample) +
           ((size_t)rec->kernel_count + rec->user_count) * sizeof(uint64_t);
}

bool held_add(struct held *h, struct process *p, const struct sample_record *rec,
              const uint64_t *frames, uint64_t now_ns)
{
    size_t bytes = sample_bytes(rec);
    struct held_sample *s = h->bytes + bytes <= HELD_BYTES_MAX ? malloc(bytes) : NULL;

    if (!s)
        return false;
    *s = (struct held_sample){ .process = p, .since_ns = now_ns, .rec = *rec };
    memcpy(s->frames, frames, bytes - sizeof(*s));
    process_pin(p);
    *h->end = s;
    h->end = &s->next;
    h->count++;
    h->bytes += bytes;
    return true;
}

bool held_has(const struct held *h, uint32_t set, uint64_t until_ns)
{
    for (const struct held_sample *s = h->first; s; s = s->next) {
        if (s->rec.set == set && s->rec.time_ns < until_ns)
            return true;
    }
    return false;
}

struct held_sample *held_take(struct held *h, struct held_sample ***at,
                              bool (*ready)(void *cookie, const struct held_sample *s),
                              void *cookie)
{
    struct held_sample **from = *at ? *at : &h->first, *s;

    while (*from && !ready(cookie, *from))
        from = &(*from)->next;
    *at = from;
    s = *from;
    if (!s)
        return NULL;
    *from = s->next;
    if (!s->next)
        h->end = from;
    h->count--;
    h->bytes -= sample_bytes(&s->rec);
    return s;
}
