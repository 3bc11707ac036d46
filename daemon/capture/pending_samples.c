/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/pending_samples.h"

#include "proc/stall_readers.h"

void pending_init(struct pending_samples *h, struct shares *waiting)
{
    *h = (struct pending_samples){ 0 };
    h->end = &h->first;
    shares_init_part(&h->bytes, PENDING_BYTES_MAX, waiting);
}

void pending_deinit(struct pending_samples *h)
{
    struct shares *waiting = h->bytes.whole;

    while (h->first) {
        struct pending_sample *s = h->first;

        h->first = s->next;
        pending_free(s);
    }
    shares_leave(&h->bytes);
    pending_init(h, waiting);
}

void pending_free(struct pending_sample *s)
{
    if (s)
        process_unpin(s->process);
    free(s);
}

bool pending_add(struct pending_samples *h, struct process *p, const struct sample_record *rec,
                 const uint64_t *frames, struct span stack, uint64_t now_ns)
{
    size_t words = (size_t)rec->kernel_count + rec->user_count + rec->context_count;
    size_t bytes = sizeof(struct pending_sample) + words * sizeof(*frames) + stack.n;
    uint64_t owner = readers_owner(&p->id);
    struct pending_sample *s = shares_room_short(&h->bytes, owner) >= bytes ? malloc(bytes) : NULL;

    if (!s)
        return false;
    shares_force(&h->bytes, owner, bytes);
    *s = (struct pending_sample){
        .process = p, .owner = owner, .since_ns = now_ns, .bytes = bytes, .rec = *rec
    };
    memcpy(s->frames, frames, words * sizeof(*frames));
    s->stack = (struct span){ (const char *)(s->frames + words), stack.n };
    if (stack.n)
        memcpy(s->frames + words, stack.p, stack.n);
    process_pin(p);
    *h->end = s;
    h->end = &s->next;
    h->count++;
    return true;
}

bool pending_has(const struct pending_samples *h, uint32_t sets, uint64_t until_ns)
{
    for (const struct pending_sample *s = h->first; s; s = s->next) {
        if (sets & 1u << s->rec.set && s->rec.time_ns < until_ns)
            return true;
    }
    return false;
}

struct pending_sample *pending_take(struct pending_samples *h, struct pending_sample ***at,
                                    bool (*ready)(void *cookie, const struct pending_sample *s),
                                    void *cookie)
{
    struct pending_sample **from = *at ? *at : &h->first, *s;

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
    shares_give(&h->bytes, s->owner, s->bytes);
    return s;
}
