/* SPDX-License-Identifier: Apache-2.0 */
/* Says which classes fill a heap that is full, or rises, by a sample of its pages. */
#include "signal/watched.h"

#include "discover/residence.h"
#include "symbolize/java_text.h"

#define SAMPLE_NS (60 * NSEC_PER_SEC) /* between two samples */
#define AGAIN_NS (10 * NSEC_PER_SEC)  /* after one that failed */
#define FILLED 0.5                    /* after a JVM freed its heap, what filled it stays said */
#define KNOWN_LEAST 0.7
#define NAMED_LEAST 0.01
#define NAMED_MOST 3
#define NAME_BYTES 64

void heap_text_say(const struct heap_sample *s, char out[RULE_HEAP_BYTES])
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->class_count && i < NAMED_MOST; i++) {
        double share = (double)s->classes[i].bytes / (double)s->bytes;
        char name[NAME_BYTES];

        if (share < NAMED_LEAST)
            return;
        n += (size_t)snprintf(out + n, RULE_HEAP_BYTES - n, "%s%.0f %% %s", n ? ", " : "",
                              share * 100, java_type_clean(s->classes[i].name, name, sizeof(name)));
    }
}

bool heap_text_take(struct watched *w, const struct heap_sample *s)
{
    double known = s->bytes ? (double)s->known / (double)s->bytes : 0;

    if (known < KNOWN_LEAST && known <= w->heap_known)
        return false;
    w->heap_known = known;
    heap_text_say(s, w->heap_text);
    return known >= KNOWN_LEAST;
}

static bool is_wanted(const struct watched *w)
{
    const struct signal_state *s = w->states;

    return s[RULE_HEAP_GROWING].on || ((s[RULE_HEAP_FULL].on || s[RULE_GC_PAUSES].on) &&
                                       rule_heap_of(&w->numbers).part >= FILLED);
}

bool heap_text_is_due(const struct watched *w, uint64_t now_ns)
{
    return now_ns >= w->heap_ns && !w->ended && !w->p->exited && !w->p->replaced && is_wanted(w);
}

static void look(struct watched *w, struct discover *d, uint64_t now_ns)
{
    int r = discover_residence(d, w->p, SAMPLE_NS / 2, NULL);
    const struct residence *found = w->p->residence;

    if (r == -EINPROGRESS)
        return;
    w->heap_ns = now_ns + AGAIN_NS;
    if (r != 0 || !found || found->heap_time_ns == w->heap_time_ns)
        return;
    w->heap_time_ns = found->heap_time_ns;
    if (heap_text_take(w, &found->heap))
        w->heap_ns = now_ns + SAMPLE_NS;
    watched_judge(w, now_ns);
}

void heap_text_poll(struct watched *const *all, size_t n, struct discover *d, uint64_t now_ns)
{
    for (size_t i = 0; i < n; i++) {
        if (heap_text_is_due(all[i], now_ns)) {
            look(all[i], d, now_ns);
            return;
        }
    }
}
