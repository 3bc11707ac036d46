/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which classes fill a full or growing heap, by a sample of its pages. */
#include "signal/watched.h"

#include "discover/residence.h"
#include "symbolize/java_text.h"

#define SAMPLE_NS (60 * NSEC_PER_SEC) /* time between two samples */
#define AGAIN_NS (10 * NSEC_PER_SEC)  /* time after a failed sample */
#define FILLED 0.5 /* part of the heap in use; with less, no new sample is taken */
#define KEPT_NS (10 * 60 * NSEC_PER_SEC) /* a good sample stays, if only poor ones follow */
#define KNOWN_LEAST 0.7
#define NAMED_LEAST 0.01
#define NAMED_MOST 3
#define NAME_BYTES 64

static double known_part(const struct heap_sample *s)
{
    return s->bytes ? (double)s->known / (double)s->bytes : 0;
}

void heap_text_say(const struct heap_sample *s, char out[RULE_HEAP_BYTES])
{
    double known = known_part(s);
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->class_count && i < NAMED_MOST; i++) {
        double share = (double)s->classes[i].bytes / (double)s->bytes;
        char name[NAME_BYTES];

        if (share < NAMED_LEAST)
            break;
        n += (size_t)snprintf(out + n, RULE_HEAP_BYTES - n, "%s%.0f %% %s", n ? ", " : "",
                              share * 100, java_type_clean(s->classes[i].name, name, sizeof(name)));
    }
    if (n && known < KNOWN_LEAST)
        snprintf(out + n, RULE_HEAP_BYTES - n, ", %.0f %% not known", (1 - known) * 100);
}

bool heap_text_take(struct watched *w, const struct heap_sample *s, uint64_t now_ns)
{
    double known = known_part(s);

    if (known < KNOWN_LEAST && known <= w->heap.known && now_ns - w->heap.taken_ns < KEPT_NS)
        return false;
    w->heap.known = known;
    w->heap.taken_ns = now_ns;
    w->heap.was_full = rule_heap_of(&w->numbers).part >= RULE_FULL_PART;
    heap_text_say(s, w->heap.text);
    return known >= KNOWN_LEAST;
}

/* Clears the text that an earlier signal showed about the heap. */
static void forget(struct watched *w)
{
    const struct signal_state *s = w->states;

    if (s[RULE_HEAP_GROWING].on || s[RULE_HEAP_FULL].on || s[RULE_GC_PAUSES].on)
        return;
    w->heap.known = 0;
    w->heap.text[0] = '\0';
}

static bool is_wanted(const struct watched *w)
{
    const struct signal_state *s = w->states;

    return s[RULE_HEAP_GROWING].on || ((s[RULE_HEAP_FULL].on || s[RULE_GC_PAUSES].on) &&
                                       rule_heap_of(&w->numbers).part >= FILLED);
}

uint64_t heap_text_due_ns(const struct watched *w)
{
    bool runs = !w->ended && !w->p->exited && !w->p->replaced;

    return runs && is_wanted(w) ? w->heap.next_ns : UINT64_MAX;
}

static void look(struct watched *w, struct discover *d, uint64_t now_ns)
{
    int r = discover_residence(d, w->p, SAMPLE_NS / 2, NULL);
    const struct residence *found = w->p->residence;

    if (r == -EINPROGRESS)
        return;
    w->heap.next_ns = now_ns + AGAIN_NS;
    if (r != 0 || !found || found->heap_time_ns == w->heap.time_ns)
        return;
    w->heap.time_ns = found->heap_time_ns;
    if (heap_text_take(w, &found->heap, now_ns))
        w->heap.next_ns = now_ns + SAMPLE_NS;
    watched_judge(w, now_ns);
}

void heap_text_poll(struct watched *const *all, size_t n, struct discover *d, uint64_t now_ns)
{
    struct watched *next = NULL;

    for (size_t i = 0; i < n; i++) {
        forget(all[i]);
        if (now_ns >= heap_text_due_ns(all[i]) &&
            (!next || all[i]->heap.looked_ns < next->heap.looked_ns))
            next = all[i];
    }
    if (!next)
        return;
    next->heap.looked_ns = now_ns;
    look(next, d, now_ns);
}
