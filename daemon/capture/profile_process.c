/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/profile_process.h"

#include "discover/service.h"

void profile_process_of(struct frame_table *frames, const struct process *p,
                        struct profile_process *ret)
{
    struct service service;

    *ret = (struct profile_process){
        .host_pid = p->id.host_pid,
        .exec_no = p->id.exec_no,
        .start_ticks = p->id.start_ticks,
    };
    frame_table_string(frames, span_of(p->main && p->main[0] ? p->main : p->comm), &ret->name);
    frame_table_string(frames, span_of(p->container.id), &ret->container);
    frame_table_string(frames, span_of(container_pod(&p->container)), &ret->pod);
    frame_table_string(frames, span_of(p->container.pod_namespace), &ret->pod_namespace);
    if (!process_runs_java(p))
        return;
    service_of_process(p, &service);
    frame_table_string(frames, span_of(service.name), &ret->service);
}
