/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights of a request's subject, and those that a capture requires beyond the role of its route: to
 * enter a JVM, and for events that cost other processes.
 */
#include "serve/serve_impl.h"

#include "event/events.h"
#include "serve/http.h"

bool request_has_role(const struct request *req, enum role needed, struct error *err)
{
    return subject_may(&req->who.subject, needed, req->serve->listen.unix_path, err);
}

/* Returns whether the request begins a capture with an event that has @flag. */
static bool samples(const struct request *req, enum event_flag flag)
{
    const struct params *p = &req->params;

    if (req->route->audit != AUDIT_CAPTURE || p->given & PARAMS_RANGE)
        return false;
    for (size_t i = 0; i < p->capture.event_count; i++) {
        const struct event_info *info = p->capture.events[i].info;

        if (info && info->flags & flag)
            return true;
    }
    return false;
}

/* Returns whether the request begins a capture that puts probes into processes. */
static bool probes(const struct request *req)
{
    return samples(req, EVENT_PROBES) ||
           (req->params.capture.source == ALLOC_SOURCE_PROBE && samples(req, EVENT_YIELDS));
}

enum role request_role(const struct request *req)
{
    const struct params *p = &req->params;

    return params_enter_jvm(p) || probes(req) ? MAX(req->route->role, (enum role)ROLE_ATTACH)
                                              : req->route->role;
}

static bool refuse_parameter(struct request *req, const char *name, struct error *err)
{
    err->parameter = name;
    request_refuse(req, 403, err);
    return false;
}

/* Tracepoints and breakpoints cost CPU time in all processes of the machine, including those of
 * others. A probe changes the memory of a process, and no process can fork while the kernel
 * installs it. */
bool request_may_sample_events(const struct request *req, struct error *err)
{
    if (samples(req, EVENT_COSTS_ALL) && !req->who.subject.viewer.whole) {
        error_set(err, -EACCES,
                  "a tracepoint or breakpoint costs every process of the machine time, so it takes "
                  "a client that sees all of them");
        error_remedy(err, "ask as root or as a member of group flamed, or for another event");
        return false;
    }
    return !probes(req) || request_has_role(req, ROLE_ATTACH, err);
}

static bool may_name(struct request *req)
{
    struct error err = ERROR_NULL;

    if (!params_enter_jvm(&req->params))
        return true;
    if (req->who.subject.role >= ROLE_ATTACH)
        return req->wants.head || quota_attach(req);
    request_has_role(req, ROLE_ATTACH, &err);
    error_remedy(&err, "leave out symbols=, or use symbols=memory, which needs no agent");
    return refuse_parameter(req, "symbols", &err);
}

bool request_may_sample(struct request *req)
{
    struct error err = ERROR_NULL;

    req->params.capture.target.viewer = &req->who.subject.viewer;
    req->params.view.hide_kernel = !req->who.subject.viewer.whole;
    if (!request_may_sample_events(req, &err))
        return refuse_parameter(req, "event", &err);
    return may_name(req);
}
