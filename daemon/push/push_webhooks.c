/* SPDX-License-Identifier: Apache-2.0 */
/* Queues messages of triggers until the thread of push/ puts them into their spools. */
#include "push/push_impl.h"

bool push_webhook_find(struct push *p, const char *trigger, struct push_webhook *ret)
{
    for (size_t i = 0; p && i < p->o.config->count; i++) {
        const struct push_target *t = &p->o.config->targets[i];

        if (t->protocol != PUSH_WEBHOOK || strcmp(t->name, trigger) != 0)
            continue;
        *ret = (struct push_webhook){ .number = i, .link = t->link, .host = p->o.host };
        return true;
    }
    return false;
}

int push_webhook_send(struct push *p, const struct push_webhook *w, uint64_t now_ns,
                      struct span body)
{
    struct push_event e = { .number = w->number, .time_ns = now_ns };
    int r = 0;

    buf_init(&e.body, PUSH_EVENT_BYTES);
    buf_add_span(&e.body, body);
    r = e.body.error;
    pthread_mutex_lock(&p->lock);
    if (r == 0 && p->event_count == PUSH_EVENTS_WAITING_MAX)
        r = -ENOSPC;
    if (r == 0)
        p->events[p->event_count++] = e;
    else
        p->events_lost[w->number]++;
    pthread_mutex_unlock(&p->lock);
    if (r < 0)
        buf_deinit(&e.body);
    return r;
}

void push_take_events(struct push *p)
{
    struct push_event events[PUSH_EVENTS_WAITING_MAX];
    size_t n;

    pthread_mutex_lock(&p->lock);
    n = p->event_count;
    memcpy(events, p->events, n * sizeof(*events));
    p->event_count = 0;
    for (size_t i = 0; i < p->o.config->count; i++)
        p->states[i].status.missed += p->events_lost[i];
    memset(p->events_lost, 0, sizeof(p->events_lost));
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        spool_add(p->states[events[i].number].spool, events[i].time_ns,
                  buf_span(&events[i].body)); /* the spool counts losses */
        buf_deinit(&events[i].body);
    }
}
