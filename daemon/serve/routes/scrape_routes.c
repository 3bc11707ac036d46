/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus and those who speak its dialect ask: which JVMs there are. */
#include "serve/routes/handlers.h"

#define SD_REFRESH_SECONDS 30

static void add_label(json_t *labels, const char *name, const char *value)
{
    if (value && value[0])
        json_object_set_new(labels, name, json_string(value));
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* "java -jar /srv/shop.jar" is known as "shop"; a class by its name without the package. */
static void service_name(const char *program, char *buf, size_t size)
{
    struct span s = span_of(program ? program : "");

    if (span_ends_with(s, ".jar")) {
        s.n -= strlen(".jar");
        if (span_rfind(s, '/') < s.n)
            s = span_from(s, span_rfind(s, '/') + 1);
    } else {
        if (span_rfind(s, '/') < s.n) /* module/class */
            s = span_from(s, span_rfind(s, '/') + 1);
        if (span_rfind(s, '.') < s.n)
            s = span_from(s, span_rfind(s, '.') + 1);
    }
    span_copy(s, buf, size);
}

static json_t *sd_entry(const json_t *jvm, const char *target)
{
    const json_t *container = json_object_get(jvm, "container"), *pod = json_object_get(jvm, "pod");
    const char *program = text_of(jvm, "main"), *name = text_of(container, "name");
    long long pid = json_integer_value(json_object_get(jvm, "pid"));
    json_t *labels = json_object();
    char text[256];

    snprintf(text, sizeof(text), "%lld", pid);
    add_label(labels, "__param_pid", text);
    add_label(labels, "__meta_flamed_pid", text);
    service_name(program, text, sizeof(text));
    add_label(labels, "service_name", text[0] ? text : "java");
    add_label(labels, "main", program);
    add_label(labels, "container", name && name[0] ? name : text_of(container, "id"));
    name = text_of(pod, "name");
    add_label(labels, "pod", name && name[0] ? name : text_of(pod, "uid"));
    add_label(labels, "namespace", text_of(pod, "namespace"));
    add_label(labels, "__meta_flamed_container_id", text_of(container, "id"));
    add_label(labels, "__meta_flamed_container_runtime", text_of(container, "runtime"));
    add_label(labels, "__meta_flamed_pod_uid", text_of(pod, "uid"));
    add_label(labels, "__meta_flamed_java_version", text_of(jvm, "java_version"));
    return json_pack("{s:[s], s:o}", "targets", target, "labels", labels);
}

bool handle_sd(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const char *target = req->host[0] ? req->host : "localhost:7979";
    struct target_selector everything = { .viewer = &req->subject.viewer };
    json_t *value = NULL, *list = json_array(), *jvm;
    struct error err = ERROR_NULL;
    int r = be->jvms(be->ctx, &everything, &value, &err);
    size_t i;

    if (r == 0) {
        json_array_foreach(json_object_get(value, "jvms"), i, jvm)
            json_array_append_new(list, sd_entry(jvm, target));
        answer_json(&req->answer, 200, list);
        answer_header(&req->answer, "X-Prometheus-Refresh-Interval-Seconds", "%d",
                      SD_REFRESH_SECONDS);
    } else {
        answer_outcome(&req->answer, r, &err, 1);
    }
    json_decref(list);
    json_decref(value);
    return true;
}
