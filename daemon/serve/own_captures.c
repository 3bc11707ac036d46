/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callers of the last captures since flamed's start. A client that sees all captures may stop
 * and remove its own; others', and older ones, require ROLE_MANAGE.
 */
#include "serve/serve_impl.h"

#include "base/lock.h"

void own_captures_add(struct request *req, const char *id)
{
    struct serve *s = req->serve;
    struct own_capture *to;
    LOCK_SCOPE(&s->lock);

    to = &s->own.list[s->own.next++ % OWN_CAPTURES_MAX];
    to->caller = req->who.caller;
    span_copy(span_of(id), to->id, sizeof(to->id));
}

bool own_captures_has(const struct request *req, const char *id)
{
    struct serve *s = req->serve;
    bool own = false;
    LOCK_SCOPE(&s->lock);

    for (size_t i = 0; i < OWN_CAPTURES_MAX && !own; i++)
        own = strcmp(s->own.list[i].id, id) == 0 &&
              caller_equal(&s->own.list[i].caller, &req->who.caller);
    return own;
}
