/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about JVMs and readiness as JSON, from the engine. */
#include "api/api_impl.h"

#include "api/json.h"
#include "api/lookout.h"
#include "capture/capability_text.h"
#include "capture/capture_impl.h"
#include "capture/process_selector.h"
#include "discover/memory_history.h"
#include "discover/service.h"

/* Returns the source of the process's Java names. */
static const char *symbol_source(const struct process *p)
{
    return p->jvm == JVM_READY ? "memory" : p->native_image == IMAGE_NAMED ? "file" : "none";
}

static const char *profilable_reason(const struct process *p)
{
    if (p->jvm == JVM_NO)
        return process_image_text(p);
    return p->jvm == JVM_READY && !p->reason[0]
               ? "names are read from the JVM's own memory; nothing is injected"
               : p->reason;
}

/* Returns the bytes allocated per second, by the last reading; null: not known. */
static json_t *allocation_rate(const struct process *p)
{
    double rate, seconds;

    return p->history && memory_history_rate(p->history, clock_monotonic_ns(), &rate, &seconds)
               ? json_real(rate)
               : json_null();
}

static json_t *jvm_json(struct api *api, struct process *p)
{
    struct process_usage usage = { 0 };
    json_t *ns_pids = json_array(), *container, *pod, *service = service_json(p);
    struct hotspot_stubs stubs = { 0 };

    discover_usage(api->engine.discover, p, &usage);
    for (size_t i = 0; i < p->ns_depth; i++)
        json_array_append_new(ns_pids, json_integer(p->ns_pid[i]));
    container = p->container.id[0] || p->container.name[0]
                    ? json_pack("{s:o, s:o, s:o}", "id", json_string_or_null(p->container.id),
                                "runtime", json_string_or_null(p->container.runtime), "name",
                                json_string_or_null(p->container.name))
                    : json_null();
    pod = p->container.pod_uid[0] || p->container.pod_name[0]
              ? json_pack("{s:o, s:o, s:o}", "uid", json_string_or_null(p->container.pod_uid),
                          "name", json_string_or_null(p->container.pod_name), "namespace",
                          json_string_or_null(p->container.pod_namespace))
              : json_null();
    if (p->vm)
        stubs = hotspot_vm_stubs(p->vm);
    return json_pack(
        "{s:i, s:o, s:o, s:i, s:I, s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:f, s:o, s:I, s:o, "
        "s:i, s:b, s:b, s:b, s:o, s:o, s:{s:i, s:I}, s:{s:s, s:s}}",
        "pid", (int)p->id.host_pid, "nspid", ns_pids, "start_time", json_time(p->start_realtime_ns),
        "exec", (int)p->id.exec_no, "uid", (json_int_t)p->uid, "container_uid",
        p->container_uid >= 0 ? json_integer(p->container_uid) : json_null(), "main",
        target_main_of(p), "args", p->args ? p->args : "", "java_version", p->java_version,
        "vm_name", p->jvm == JVM_NO ? "GraalVM native image" : p->vm_name, "container", container,
        "pod", pod, "cgroup", p->cgroup ? p->cgroup : "", "cpu_percent", usage.cpu_percent,
        "cpu_limit", usage.cpu_limit > 0 ? json_real(usage.cpu_limit) : json_null(), "rss",
        (json_int_t)usage.rss_bytes, "allocated_bytes_per_second", allocation_rate(p), "threads",
        (int)usage.threads, "frame_pointers", (int)p->frame_pointers, "debug_non_safepoints",
        (int)p->debug_non_safepoints, "attach_disabled", (int)p->attach_disabled, "service",
        service, "signals", signal_names_json(api, p), "stubs", "named",
        (int)(stubs.named + stubs.vtables), "dropped", (json_int_t)stubs.dropped, "profilable",
        "symbols", symbol_source(p), "reason", profilable_reason(p));
}

struct jvms_args {
    struct api *api;
    struct target *target;
    json_t *list; /* NULL: @fn gets the facts instead */
    jvm_facts_fn fn;
    void *cookie;
};

static void tell_facts(const struct jvms_args *a, struct process *p)
{
    struct process_usage usage = { 0 };
    char signals[SIGNAL_NAMES_BYTES], release[DEPLOYS_NOTE_BYTES];
    struct service service;
    struct jvm_facts f = { .host_pid = p->id.host_pid,
                           .uid = p->uid,
                           .main = target_main_of(p),
                           .java_version = p->java_version,
                           .container_id = p->container.id,
                           .container_runtime = p->container.runtime,
                           .container_name = p->container.name,
                           .pod_uid = p->container.pod_uid,
                           .pod_name = p->container.pod_name,
                           .pod_namespace = p->container.pod_namespace };

    service_of_process(p, &service);
    f.service = service.name;
    f.severity = signal_names(a->api, p, signals);
    f.signals = signals;
    lookout_note(a->api->lookout, p, release);
    f.release = release;
    discover_usage(a->api->engine.discover, p, &usage);
    f.cpu_percent = usage.cpu_percent;
    a->fn(a->cookie, &f);
}

static int jvms_add(void *cookie, struct process *p)
{
    struct jvms_args *a = cookie;

    if (p->exited || !process_runs_java(p) || !target_matches(a->target, p))
        return 0;
    if (a->list)
        json_array_append_new(a->list, jvm_json(a->api, p));
    else
        tell_facts(a, p);
    return 0;
}

/* Calls jvms_add() for each JVM that @t selects. */
static int jvms_walk(struct jvms_args *a, const struct target_selector *t, struct error *err)
{
    _cleanup_(target_freep) struct target *target = NULL;
    int r = target_new(t, &target, err);

    if (r < 0)
        return r;
    discover_catch_up(a->api->engine.discover);
    a->target = target;
    discover_each(a->api->engine.discover, jvms_add, a);
    r = target_refuse_spent(target, err);
    if (r == 0 && a->list && json_array_size(a->list) == 0 && !target_is_open(target))
        r = target_check(target, a->api->engine.discover, a->api->engine.opts->proc_fd, err);
    return r;
}

int facts_jvms(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    struct jvms_args a = { .api = api, .list = json_array() };
    int r = a.list ? jvms_walk(&a, q->target, err) : -ENOMEM;

    if (r != 0) {
        json_decref(a.list);
        return r;
    }
    *ret = json_pack("{s:o}", "jvms", a.list);
    return *ret ? 0 : -ENOMEM;
}

int facts_jvms_each(struct api *api, const struct target_selector *t, jvm_facts_fn fn, void *cookie,
                    struct error *err)
{
    return jvms_walk(&(struct jvms_args){ .api = api, .fn = fn, .cookie = cookie }, t, err);
}

int facts_jvm(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    struct target_selector s = { .pids = { q->host_pid }, .pid_count = 1, .viewer = q->viewer };
    _cleanup_(target_freep) struct target *t = NULL;
    struct process *p;
    int r = target_new(&s, &t, err)
                ?: target_check(t, api->engine.discover, api->engine.opts->proc_fd, err);

    if (r != 0)
        return r;
    p = discover_find(api->engine.discover, q->host_pid);
    if (!p || !process_runs_java(p))
        return jvm_missing(api, t, q->host_pid, p, err);
    *ret = jvm_json(api, p);
    return *ret ? 0 : -ENOMEM;
}

static void add_problem(json_t *problems, const char *what, const char *sentence, bool fatal)
{
    if (sentence && sentence[0])
        json_array_append_new(problems, json_pack("{s:s, s:s, s:b}", "what", what, "detail",
                                                  sentence, "fatal", (int)fatal));
}

static void add_right(void *cookie, const char *sentence)
{
    add_problem(cookie, "rights", sentence, false);
}

json_t *facts_unavailable(const struct error *err)
{
    return json_pack("{s:s, s:[{s:s, s:s, s:s, s:b}]}", "status", "unavailable", "problems", "what",
                     "engine", "detail", err->msg, "remedy", err->remedy, "fatal", 1);
}

/* Returns the time in ns after which samples of busy processors fill the recorder. Leaves out the
 * memory of stacks. */
static uint64_t recorder_busy_ns(const struct recorder *rec, const struct flight_stats *f)
{
    uint64_t processors = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);

    return f->max_bytes / sizeof(struct profile_sample) * rec->period_ns / processors;
}

/* Reports that the flight recorder reaches back less far than configured, or would do so on a busy
 * machine. */
static void add_recorder_problem(const struct recorder *rec, json_t *problems)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct flight_stats f = { 0 };
    char text[256];

    if (!rec)
        return;
    flight_stats(rec->flight, &f);
    if (recorder_busy_ns(rec, &f) < f.keep_ns) {
        snprintf(text, sizeof(text),
                 "the %zu MiB of recorder_max_bytes hold %llu s of a machine whose processors are "
                 "all busy, not the %llu of recorder_seconds; raise recorder_max_bytes, or lower "
                 "recorder_seconds or recorder_hz",
                 f.max_bytes >> 20, (unsigned long long)(recorder_busy_ns(rec, &f) / NSEC_PER_SEC),
                 (unsigned long long)(f.keep_ns / NSEC_PER_SEC));
        add_problem(problems, "flight recorder", text, false);
    }
    if (!f.short_ns || now_ns - f.short_ns > f.keep_ns)
        return;
    snprintf(text, sizeof(text),
             "the flight recorder reaches back %llu s, not the %llu of recorder_seconds: its %zu "
             "MiB are full; raise recorder_max_bytes, or lower recorder_seconds or recorder_hz",
             (unsigned long long)((now_ns - MIN(now_ns, f.oldest_ns)) / NSEC_PER_SEC),
             (unsigned long long)(f.keep_ns / NSEC_PER_SEC), f.max_bytes >> 20);
    add_problem(problems, "flight recorder", text, false);
}

/* Reports that the flight recorder should sample waiting threads but cannot. */
static void add_looks_problem(const struct recorder *rec, json_t *problems)
{
    const struct error *why = rec && rec->looks ? &rec->looks->problem : NULL;
    char text[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 2];

    if (!why || !why->msg[0] || why->code == -EINPROGRESS)
        return;
    snprintf(text, sizeof(text), "%s%s%s", why->msg, why->remedy[0] ? "; " : "", why->remedy);
    add_problem(problems, "waits", text, false);
}

/* JVMs without recorded allocations. */
struct unrecorded {
    const struct captures *captures;
    size_t count;
    int32_t first;    /* pid of one of these JVMs */
    struct error why; /* reason for that JVM */
};

static int see_unrecorded(void *cookie, struct process *p)
{
    struct unrecorded *u = cookie;
    struct error why = ERROR_NULL;
    int r = p->exited || p->jvm == JVM_NO ? 0 : recorded_allocs_why(u->captures, p, &why);

    if (r == 0 || r == -EAGAIN || r == -EINPROGRESS)
        return 0;
    if (!u->count++) {
        u->first = p->id.host_pid;
        u->why = why;
    }
    return 0;
}

/* Reports that the flight recorder should sample allocations but cannot, or not in each JVM. */
static void add_allocs_problem(struct api *api, json_t *problems)
{
    const struct recorded_allocs *a = &api->engine.captures->recording.allocs;
    struct unrecorded u = { .captures = api->engine.captures };
    char text[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 128] = "";

    if (!a->on)
        return;
    if (a->runs)
        discover_each(api->engine.discover, see_unrecorded, &u);
    if (u.count)
        snprintf(text, sizeof(text),
                 "allocations of some JVMs (%zu) are not recorded; of JVM %d: %s%s%s", u.count,
                 u.first, u.why.msg, u.why.remedy[0] ? "; " : "", u.why.remedy);
    else if (!a->runs && a->problem.code != -EINPROGRESS)
        snprintf(text, sizeof(text), "%s%s%s", a->problem.msg, a->problem.remedy[0] ? "; " : "",
                 a->problem.remedy);
    add_problem(problems, "allocations", text, false);
}

/* Returns what the flight recorder records, and the limits of the recorder. */
static json_t *recorder_facts(const struct api *api)
{
    const struct recorder *rec = *api->engine.recorder;

    return json_pack("{s:b, s:b, s:b}", "cpu", rec != NULL, "waits",
                     rec && rec->looks && rec->looks->stats.passes && !rec->looks->problem.msg[0],
                     "alloc", (int)api->engine.captures->recording.allocs.runs);
}

/* Adds problems that may name files of the configuration or processes. Only viewers of the whole
 * node get them. */
static void add_whole_problems(struct api *api, json_t *problems)
{
    char store[256];

    rights_problems(api->engine.sampling->facts.capabilities, add_right, problems);
    add_problem(problems, "sideband", api->engine.sampling->facts.sideband_problem, false);
    add_problem(problems, "kernel symbols", symbolizer_kernel_problem(api->engine.symbolizer),
                false);
    add_problem(problems, "proc", discover_problem(api->engine.discover), false);
    add_problem(problems, "configuration", api->engine.problems[ENGINE_PROBLEM_CONFIG], false);
    add_problem(problems, "tls", api->engine.problems[ENGINE_PROBLEM_TLS], false);
    add_problem(problems, "plain http", api->engine.problems[ENGINE_PROBLEM_PLAIN], false);
    add_problem(problems, "push", api->engine.problems[ENGINE_PROBLEM_PUSH], false);
    add_problem(problems, "flight recorder", api->engine.problems[ENGINE_PROBLEM_RECORDER], false);
    add_recorder_problem(*api->engine.recorder, problems);
    add_looks_problem(*api->engine.recorder, problems);
    add_allocs_problem(api, problems);
    if (api->engine.store) {
        store_problem(api->engine.store, store, sizeof(store));
        add_problem(problems, "store", store, false);
    }
    if (api->engine.history) {
        history_problem(api->engine.history, store, sizeof(store));
        add_problem(problems, "history", store, false);
    }
}

static size_t captures_seen(const struct api *api, const struct viewer *v)
{
    size_t n = 0;

    for (const struct capture *c = api->engine.captures->running; c; c = c->next)
        n += viewer_sees_scope(v, c->meta.scope);
    return n;
}

int facts_ready(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    json_t *problems = json_array();
    bool ready = sampling_works(api->engine.sampling);

    add_problem(problems, "sampling", ready ? "" : api->engine.sampling->facts.bpf_problem, true);
    add_problem(problems, "without bpf", api->engine.sampling->without_bpf, false);
    if (q->viewer->whole)
        add_whole_problems(api, problems);
    *ret = json_pack("{s:s, s:o, s:i, s:o, s:{s:s, s:b}}", "status",
                     ready                                     ? "ready"
                     : api->engine.sampling->facts.bpf_loading ? "loading"
                                                               : "unavailable",
                     "problems", problems, "captures", (int)captures_seen(api, q->viewer),
                     "recorder", recorder_facts(api), "symbols", "auto", "memory", "agent",
                     (int)api->engine.opts->allow_injection);
    if (!*ret)
        return -ENOMEM;
    if (ready)
        return 0;
    sampling_problem(api->engine.sampling, err);
    return BACKEND_UNAVAILABLE;
}
