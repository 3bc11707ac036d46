/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/profile_process.h"

#include "base/buf.h"
#include "discover/service.h"

#define ATTRIBUTES_BYTES ((size_t)1024)

static void add_attribute(struct buf *out, const char *key, const char *value)
{
    if (value[0] && !strchr(value, '\n'))
        buf_printf(out, "%s=%s\n", key, value);
}

/* Writes @p's attributes of OpenTelemetry's semantic conventions that profiles have no member
 * for. */
static void attributes_of(const struct process *p, const struct service *s, struct buf *out)
{
    const struct container *c = &p->container;

    add_attribute(out, "service.namespace", s->space[0] ? s->space : c->pod_namespace);
    add_attribute(out, "service.instance.id", s->instance);
    add_attribute(out, "deployment.environment.name", s->environment);
    add_attribute(out, "vcs.repository.url.full", s->repository);
    add_attribute(out, "vcs.ref.head.revision", s->revision);
    add_attribute(out, "k8s.pod.uid", c->pod_uid);
    add_attribute(out, c->pod_uid[0] ? "k8s.container.name" : "container.name", c->name);
    add_attribute(out, "flamed.version.source", version_source_name(s->version_source));
    if (s->jar.facts.identity && !strchr(s->jar.name, '\n'))
        buf_printf(out, "flamed.jar=%016jx %s\n", (uintmax_t)s->jar.facts.identity, s->jar.name);
}

void profile_process_of(struct frame_table *frames, const struct process *p,
                        struct profile_process *ret)
{
    _cleanup_buf_ struct buf attributes = BUF_UPTO(ATTRIBUTES_BYTES);
    struct service service;

    *ret = (struct profile_process){
        .host_pid = p->id.host_pid,
        .exec_no = p->id.exec_no,
        .start_ticks = p->id.start_ticks,
    };
    frame_table_string(frames, span_of(process_title(p)), &ret->name);
    frame_table_string(frames, span_of(p->container.id), &ret->container);
    frame_table_string(frames, span_of(container_pod(&p->container)), &ret->pod);
    frame_table_string(frames, span_of(p->container.pod_namespace), &ret->pod_namespace);
    if (!process_runs_java(p))
        return;
    service_of_process(p, &service);
    frame_table_string(frames, span_of(service.name), &ret->service);
    frame_table_string(frames, span_of(service.version), &ret->version);
    attributes_of(p, &service, &attributes);
    if (!attributes.error)
        frame_table_string(frames, buf_span(&attributes), &ret->attributes);
}
