/* SPDX-License-Identifier: Apache-2.0 */
/* Service discovery for Prometheus and compatible scrapers: the list of JVMs. */
#include "serve/routes/handlers.h"

#define SD_REFRESH_SECONDS 30

static void add_label(json_t *labels, const char *name, const char *value)
{
    if (value && value[0])
        json_object_set_new(labels, name, json_string(value));
}

struct sd_list {
    json_t *entries;
    const char *target; /* address of flamed itself */
};

static void add_entry(void *cookie, const struct jvm_facts *f)
{
    struct sd_list *list = cookie;
    json_t *labels = json_object();
    char text[256];

    snprintf(text, sizeof(text), "%d", f->host_pid);
    add_label(labels, "__param_pid", text);
    add_label(labels, "__meta_flamed_pid", text);
    add_label(labels, "service_name", f->service);
    add_label(labels, "main", f->main);
    add_label(labels, "container", f->container_name[0] ? f->container_name : f->container_id);
    add_label(labels, "pod", f->pod_name[0] ? f->pod_name : f->pod_uid);
    add_label(labels, "namespace", f->pod_namespace);
    add_label(labels, "__meta_flamed_container_id", f->container_id);
    add_label(labels, "__meta_flamed_container_runtime", f->container_runtime);
    add_label(labels, "__meta_flamed_pod_uid", f->pod_uid);
    add_label(labels, "__meta_flamed_java_version", f->java_version);
    json_array_append_new(list->entries,
                          json_pack("{s:[s], s:o}", "targets", list->target, "labels", labels));
}

bool handle_sd(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct sd_list list = { .entries = json_array(),
                            .target =
                                req->received.host[0] ? req->received.host : "localhost:7979" };
    struct target_selector everything = { .viewer = &req->who.subject.viewer };
    struct error err = ERROR_NULL;
    int r = be->jvms_each(be->ctx, &everything, add_entry, &list, &err);

    if (r == 0) {
        answer_json(&req->answer, 200, list.entries, JSON_INDENT(2));
        answer_header(&req->answer, "X-Prometheus-Refresh-Interval-Seconds", "%d",
                      SD_REFRESH_SECONDS);
    } else {
        answer_outcome(&req->answer, r, &err, 1);
    }
    json_decref(list.entries);
    return true;
}
