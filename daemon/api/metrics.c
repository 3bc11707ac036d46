/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text of what flamed costs, what it sees, and where JVMs spend their CPU time. */
#include "api/api_impl.h"
#include "api/exposition.h"
#include "api/heap.h"
#include "api/lookout.h"
#include "attach/attachment.h"
#include "base/version.h"
#include "namer/namer.h"
#include "proc/stall_readers.h"

#include <sys/resource.h>

#define HELPERS_TEXT_MAX 4096 /* of a list of pids */

struct jvm_metrics {
    struct api *api;
    const struct target *seen;
    struct buf *out;
};

struct metrics {
    const struct viewer *viewer;
    struct buf *out;
    struct store_stats store;
    char store_problem[256];
    size_t waiting;
    struct heap_metrics heaps;
};

/* Memory in use now, from /proc/PID/statm; 0 when it cannot be read. */
static double resident_bytes(int proc_fd, int32_t pid)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(256);
    char path[32];
    struct span s, word;
    uint64_t pages;

    snprintf(path, sizeof(path), "%d/statm", pid);
    if (buf_read_at(&text, proc_fd, path) < 0)
        return 0;
    s = buf_span(&text);
    span_take_word(&s, &word); /* the size: what is resident comes second */
    if (!span_take_word(&s, &word) || !span_parse_dec(word, &pages))
        return 0;
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* What the broker started before it could start nothing any more: all of one name are one row. */
struct helper_row {
    const char *name; /* as their comm */
    uint64_t ticks;
};

/* Adds the CPU time of @pid's children of these names, and of theirs (a launcher's worker). What
 * they ran themselves, each attach, counts when it has ended. */
static void add_helpers(int proc_fd, int32_t pid, struct helper_row *rows, size_t count,
                        unsigned depth)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(HELPERS_TEXT_MAX);
    struct proc_stat stat;
    struct span rest, word;
    char path[64];
    uint64_t child;

    snprintf(path, sizeof(path), "%d/task/%d/children", pid, pid);
    if (buf_read_at(&text, proc_fd, path) < 0)
        return;
    rest = buf_span(&text);
    while (span_take_word(&rest, &word)) {
        if (!span_parse_dec(word, &child) || child > INT32_MAX ||
            proc_read_stat(proc_fd, (int32_t)child, &stat) != 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            if (strcmp(stat.comm, rows[i].name) == 0)
                rows[i].ticks += stat.utime_ticks + stat.stime_ticks + stat.waited_ticks;
        }
        if (depth > 1)
            add_helpers(proc_fd, (int32_t)child, rows, count, depth - 1);
    }
}

static void metrics_own(struct api *api, struct buf *out)
{
    struct helper_row helpers[] = { { "flamed-launcher", 0 }, { "flamed-opener", 0 } };
    struct {
        const char *name;
        int32_t pid;
    } us[] = { { "flamed", getpid() }, { "flamed-broker", api->engine.sampling->facts.pid } };
    struct proc_stat stat;

    metric_head(out, "flamed_build_info", "gauge", "Version of flamed.");
    buf_printf(out, "flamed_build_info{version=\"" FLAMED_VERSION "\"} 1\n");
    metric_head(out, "flamed_cpu_seconds_total", "counter",
                "CPU time that flamed's own processes used.");
    for (size_t i = 0; i < ARRAY_SIZE(us); i++) {
        if (proc_read_stat(api->engine.opts->proc_fd, us[i].pid, &stat) == 0)
            buf_printf(out, "flamed_cpu_seconds_total{process=\"%s\"} %.2f\n", us[i].name,
                       (double)(stat.utime_ticks + stat.stime_ticks) / 100.0);
    }
    add_helpers(api->engine.opts->proc_fd, api->engine.sampling->facts.pid, helpers,
                ARRAY_SIZE(helpers),
                /* depth= */ 2);
    for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
        buf_printf(out, "flamed_cpu_seconds_total{process=\"%s\"} %.2f\n", helpers[i].name,
                   (double)helpers[i].ticks / 100.0);
    metric_head(out, "flamed_resident_memory_bytes", "gauge", "Memory of flamed's own processes.");
    for (size_t i = 0; i < ARRAY_SIZE(us); i++)
        buf_printf(out, "flamed_resident_memory_bytes{process=\"%s\"} %.17g\n", us[i].name,
                   resident_bytes(api->engine.opts->proc_fd, us[i].pid));
}

static void metrics_samples(struct api *api, struct buf *out)
{
    const struct perf_rings *perf = api->engine.sampling->perf;
    struct broker_sample_stats s = { 0 };
    uint64_t malformed = 0;

    broker_sample_stats(api->engine.broker, &s, NULL);
    if (perf) { /* the broker sees none of them */
        s.samples = api->engine.dispatch->samples;
        s.lost_ring = perf_rings_lost(perf) + api->engine.dispatch->copies_lost;
        s.hidden = api->engine.captures->hidden_copies;
        malformed = perf_rings_malformed(perf);
    } else if (api->engine.sampling->ring) {
        malformed = ring_malformed(api->engine.sampling->ring);
    }
    metric(out, "flamed_samples_total", "counter", "Samples taken.", (double)s.samples);
    metric_head(out, "flamed_samples_lost_total", "counter",
                "Samples that were taken but did not arrive.");
    buf_printf(out, "flamed_samples_lost_total{reason=\"ring_full\"} %llu\n",
               (unsigned long long)s.lost_ring);
    buf_printf(out, "flamed_samples_lost_total{reason=\"budget\"} %llu\n",
               (unsigned long long)s.lost_budget);
    buf_printf(out, "flamed_samples_lost_total{reason=\"malformed\"} %llu\n",
               (unsigned long long)malformed);
    buf_printf(out, "flamed_samples_lost_total{reason=\"other\"} %llu\n",
               (unsigned long long)s.lost_other);
    buf_printf(out, "flamed_samples_lost_total{reason=\"process_table_full\"} %llu\n",
               (unsigned long long)api->engine.dispatch->unmatched);
    metric(out, "flamed_samples_hidden_total", "counter",
           "Ticks in processes outside flamed's own pid namespace, which it cannot see.",
           (double)s.hidden);
    metric(out, "flamed_sample_seconds_total", "counter",
           "CPU time that taking samples cost in the kernel.", (double)s.time_ns / 1e9);
    metric(out, "flamed_samples_unknown_total", "counter", "Samples with a frame that has no name.",
           (double)api->engine.dispatch->naming.unknown);
    metric(out, "flamed_samples_held", "gauge",
           "Samples that wait until their symbols have been read.",
           (double)api->engine.dispatch->pending.count);
    metric(out, "flamed_samples_hurried_total", "counter",
           "Samples that were named before the symbols of one of their files had been read.",
           (double)api->engine.dispatch->pending.hurried);
    delays_write(&api->engine.dispatch->delays, "flamed_sample_delay_seconds",
                 "Time from taking a sample until its frames were named.", out);
    metric_head(out, "flamed_samples_truncated_total", "counter",
                "Samples whose stack does not reach the thread's start, by reason.");
    for (size_t i = 0; i < ARRAY_SIZE(api->engine.dispatch->naming.truncated); i++) {
        if (api->engine.dispatch->naming.truncated[i])
            buf_printf(out, "flamed_samples_truncated_total{reason=\"%s\"} %llu\n",
                       profile_end_name((unsigned)i),
                       (unsigned long long)api->engine.dispatch->naming.truncated[i]);
    }
}

/* The namer: names that are raw for a reason, and what the rest cost. */
static void metrics_namer(struct api *api, struct buf *out)
{
    struct namer_stats s;

    namer_stats(api->engine.namer, &s);
    metric(out, "flamed_symbols_demangled_total", "counter",
           "Mangled symbols that got a readable name.", (double)s.named);
    metric_head(out, "flamed_symbols_raw_total", "counter",
                "Mangled symbols that are shown as they are, by reason.");
    buf_printf(out, "flamed_symbols_raw_total{reason=\"not_mangled\"} %llu\n",
               (unsigned long long)s.none);
    buf_printf(out, "flamed_symbols_raw_total{reason=\"too_slow\"} %llu\n",
               (unsigned long long)s.timed_out);
    buf_printf(out, "flamed_symbols_raw_total{reason=\"fault\"} %llu\n",
               (unsigned long long)s.died);
    buf_printf(out, "flamed_symbols_raw_total{reason=\"owner_budget\"} %llu\n",
               (unsigned long long)s.refused);
    metric(out, "flamed_symbols_waiting", "gauge", "Symbols that wait for a readable name.",
           (double)s.waiting);
    metric(out, "flamed_namer_cpu_seconds_total", "counter",
           "CPU time of the process that demangles symbols.", (double)s.cpu_ns / 1e9);
}

static void metrics_state(struct api *api, struct buf *out)
{
    const struct naming *naming = &api->engine.dispatch->naming;
    struct discover_stats d;
    struct symbolizer_stats s;

    discover_stats(api->engine.discover, &d);
    symbolizer_stats(api->engine.symbolizer, &s);
    metric(out, "flamed_captures_running", "gauge", "Captures that run now.",
           (double)api->engine.captures->capture_count);
    metric(out, "flamed_captures_bytes", "gauge",
           "Memory of running captures: samples, stacks, threads.",
           (double)api->engine.captures->budget.used_bytes);
    metric(out, "flamed_profiles_bytes", "gauge",
           "Memory of profiles of captures that are being answered or stored.",
           (double)profile_counted_bytes());
    metric(out, "flamed_captures_max_bytes", "gauge",
           "Limit for the memory of running captures and of these profiles.",
           (double)api->engine.captures->budget.max_bytes);
    metric(out, "flamed_captures_events_late_total", "counter",
           "Events that began later than their capture, because the kernel was still installing "
           "their programs or probes.",
           (double)api->engine.captures->events_late);
    metric(out, "flamed_captures_events_left_out_total", "counter",
           "Requested events that a capture ended without, because they could not be sampled.",
           (double)api->engine.captures->events_left_out);
    metric(out, "flamed_captures_thinned_total", "counter",
           "Times that a capture's samples were halved to make room for another's.",
           (double)api->engine.captures->captures_thinned);
    metric(out, "flamed_captures_cut_short_total", "counter",
           "Captures that ended early because the memory for captures was used up.",
           (double)api->engine.captures->captures_cut_short);
    metric(out, "flamed_sampling_sets", "gauge",
           "Sampling sessions that run now, with the flight recorder's: captures of one rate share "
           "one.",
           (double)sample_sets_used(&api->engine.captures->sets));
    metric(out, "flamed_processes", "gauge", "Processes known.", (double)d.processes);
    metric(out, "flamed_jvms", "gauge", "JVMs known.", (double)d.jvms);
    metric(out, "flamed_sideband_records_total", "counter", "Records of fork, exec and exit read.",
           (double)d.sideband_records);
    metric(out, "flamed_sideband_lost_total", "counter", "Records of fork, exec and exit lost.",
           (double)d.sideband_lost);
    metric(out, "flamed_sideband_malformed_bytes_total", "counter",
           "Bytes dropped because they were no records of fork, exec and exit.",
           (double)d.sideband_malformed);
    metric(out, "flamed_process_sweeps_total", "counter", "Times /proc was read in full.",
           (double)d.sweeps);
    metric(out, "flamed_process_table_full_total", "counter", "Processes and samples without room.",
           (double)d.table_full);
    metric(out, "flamed_mappings_left_out", "gauge",
           "Executable mappings of sampled processes that found no room.",
           (double)unwinding_all_left_out(api->engine.captures->unwinding));
    metric(out, "flamed_unwind_refused_total", "counter",
           "Processes, and files with unwind tables, that found no room in their owner's share.",
           (double)unwinding_refused(api->engine.captures->unwinding));
    metric(out, "flamed_elf_files", "gauge", "Symbol files held.", (double)s.elf_files);
    metric(out, "flamed_elf_reading", "gauge", "Symbol files being read.", (double)s.elf_reading);
    metric(out, "flamed_elf_unanswered_total", "counter",
           "Times that the file system of a symbol file did not answer.", (double)s.elf_unanswered);
    metric(out, "flamed_elf_bytes", "gauge", "Memory of symbol files.", (double)s.elf_bytes);
    metric(out, "flamed_elf_nameless", "gauge",
           "Symbol files whose symbols are left out, as their owner has no memory left for them.",
           (double)s.elf_nameless);
    metric(out, "flamed_elf_left_out_total", "counter",
           "Times that the symbols of a file were left out, as their owner had no memory left for "
           "them.",
           (double)s.elf_left_out);
    metric(out, "flamed_inlines_refused_total", "counter",
           "Files whose inlined functions and lines found no room in their owner's share.",
           (double)s.inlines_refused);
    metric(out, "flamed_shares_miscounted_total", "counter",
           "Times that more of an owner's share was released than taken, which is a bug of flamed.",
           (double)shares_miscounted());
    metric(out, "flamed_names_bytes", "gauge", "Memory of the table of frames and names.",
           (double)frame_table_bytes(naming->frames));
    metric(out, "flamed_names_refused_total", "counter",
           "Frames and names that found no room in their owner's share.",
           (double)(naming->refused + frame_table_refused(naming->frames)));
}

/* What looking at threads that wait did and cost. */
static void metrics_looks(const struct looks *l, struct buf *out)
{
    struct looks_stats s;

    if (!l)
        return;
    looks_stats(l, &s);
    metric(out, "flamed_looks_total", "counter", "Passes over the threads of JVMs.",
           (double)s.passes);
    metric(out, "flamed_looks_seconds_total", "counter",
           "CPU time of passes over the threads of JVMs, without walks of stacks.",
           (double)s.time_ns / 1e9);
    metric(out, "flamed_looks_threads", "gauge", "Threads of JVMs in the last pass.",
           (double)s.threads);
    metric(out, "flamed_looks_walked_total", "counter",
           "Threads that had run between two passes, and whose stack was walked.",
           (double)s.walked);
    metric(out, "flamed_looks_passed_over_total", "counter",
           "Threads that had run between two passes but were not walked; the walked ones stand for "
           "them.",
           (double)s.passed_over);
    metric(out, "flamed_looks_left_out_total", "counter",
           "Threads that passes skipped, because the table of threads was full.",
           (double)s.left_out);
    metric(out, "flamed_looks_dropped_total", "counter",
           "Samples of waits that did not fit into the flight recorder.", (double)s.dropped);
    metric(out, "flamed_looks_lost_seconds_total", "counter",
           "Time of threads whose place was not known.", (double)s.lost_ns / 1e9);
}

static void metrics_recorder(struct api *api, struct buf *out)
{
    struct flight_stats f = { 0 };

    if (!*api->engine.recorder)
        return;
    flight_stats((*api->engine.recorder)->flight, &f);
    metric(out, "flamed_flight_recorder_bytes", "gauge", "Memory of the flight recorder.",
           (double)f.bytes);
    metric(out, "flamed_flight_recorder_samples_total", "counter", "Samples recorded.",
           (double)f.samples);
    metric(out, "flamed_flight_recorder_dropped_total", "counter", "Samples not recorded.",
           (double)f.dropped);
    metric(out, "flamed_flight_recorder_seconds", "gauge", "How far back it reaches.",
           f.oldest_ns ? (double)(clock_monotonic_ns() - f.oldest_ns) / 1e9 : 0.0);
    metrics_looks((*api->engine.recorder)->looks, out);
}

/* A counter of operations of JVMs: their CPU time, or their waits. */
struct operation_metrics {
    struct recorder *rec;
    const struct target *seen;
    const char *name;
    bool waits;
    struct buf *out;
};

static int metrics_operation(void *cookie, struct process *p)
{
    const struct operation_metrics *a = cookie;
    const struct recorded_operations *of;
    uint32_t id;

    if (p->jvm == JVM_NO || p->exited || !target_sees(a->seen, p) ||
        !id_table_find(&a->rec->jvms, &p->id, &id))
        return 0;
    of = &a->rec->counters[id].operations;
    for (size_t i = 0; i < of->count; i++) {
        uint64_t ns = a->waits ? of->items[i].wait_ns : of->items[i].cpu_ns;

        buf_printf(a->out, "%s{", a->name);
        metric_jvm_labels(a->out, p);
        buf_add_char(a->out, ',');
        metric_label(a->out, "operation", of->items[i].name);
        buf_printf(a->out, "} %.6f\n", (double)ns / 1e9);
    }
    return 0;
}

static void metrics_operations(struct api *api, const struct target *seen, struct buf *out)
{
    struct operation_metrics cpu = { .rec = *api->engine.recorder,
                                     .seen = seen,
                                     .name = "flamed_jvm_operation_cpu_seconds_total",
                                     .out = out },
                             waits = cpu;

    waits.name = "flamed_jvm_operation_wait_seconds_total";
    waits.waits = true;
    metric_head(out, cpu.name, "counter",
                "CPU time of a JVM by the operation of its requests, estimated from the always-on "
                "samples, up to 10 s late.");
    discover_each(api->engine.discover, metrics_operation, &cpu);
    metric_head(out, waits.name, "counter",
                "Time that threads of a JVM were blocked within requests, by operation, estimated "
                "from the always-on samples, up to 10 s late.");
    discover_each(api->engine.discover, metrics_operation, &waits);
}

static int metrics_jvm(void *cookie, struct process *p)
{
    static const struct recorded_jvm NONE;
    struct jvm_metrics *a = cookie;
    struct recorder *rec = *a->api->engine.recorder;
    const struct recorded_jvm *c = &NONE;
    uint32_t id;

    if (p->jvm == JVM_NO || p->exited || !target_sees(a->seen, p))
        return 0;
    if (id_table_find(&rec->jvms, &p->id, &id))
        c = &rec->counters[id];
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        buf_add_str(a->out, "flamed_jvm_cpu_seconds_total{");
        metric_jvm_labels(a->out, p);
        buf_printf(a->out, ",category=\"%s\"} %.6f\n", CATEGORY_NAMES[i],
                   (double)c->samples[i] * (double)rec->period_ns / 1e9);
    }
    return 0;
}

static void metrics_jvms(struct api *api, const struct viewer *v, struct buf *out)
{
    struct target_selector all = { .viewer = v };
    _cleanup_(target_freep) struct target *seen = NULL;
    struct jvm_metrics a = { api, NULL, out };

    if (!*api->engine.recorder || target_new(&all, &seen, NULL) != 0)
        return;
    a.seen = seen;
    metric_head(out, "flamed_jvm_cpu_seconds_total", "counter",
                "CPU time of a JVM by what it was spent on, estimated from the always-on samples.");
    discover_each(api->engine.discover, metrics_jvm, &a);
    if (api->engine.opts->recorder_requests)
        metrics_operations(api, seen, out);
}

static void metrics_store(const struct metrics *m)
{
    metric(m->out, "flamed_store_bytes", "gauge", "Size of the store.", (double)m->store.bytes);
    metric(m->out, "flamed_store_names_bytes", "gauge",
           "Memory of the names and stacks that stored captures share.",
           (double)m->store.names_bytes);
    metric(m->out, "flamed_store_captures", "gauge", "Captures stored.", (double)m->store.captures);
    metric(m->out, "flamed_store_puts_total", "counter", "Captures written.",
           (double)m->store.puts);
    metric(m->out, "flamed_store_put_failures_total", "counter",
           "Captures that could not be written.", (double)m->store.put_failures);
    metric(m->out, "flamed_store_waiting", "gauge", "Finished captures that wait to be written.",
           (double)m->waiting);
    metric_head(m->out, "flamed_store_dropped_total", "counter", "Captures dropped by retention.");
    buf_printf(m->out, "flamed_store_dropped_total{reason=\"age\"} %llu\n",
               (unsigned long long)m->store.dropped_by_age);
    buf_printf(m->out, "flamed_store_dropped_total{reason=\"size\"} %llu\n",
               (unsigned long long)m->store.dropped_by_size);
    metric(m->out, "flamed_store_healthy", "gauge", "1 when captures can be written.",
           m->store_problem[0] ? 0.0 : 1.0);
}

static int call_metrics(struct api *api, void *arg)
{
    struct metrics *m = arg;

    heap_metrics_collect(api, m->viewer, &m->heaps);
    if (!m->viewer->whole) {
        metrics_jvms(api, m->viewer, m->out);
        moment_metrics(api, m->viewer, m->out);
        signal_metrics(api, m->viewer, m->out);
        return 0;
    }
    metrics_own(api, m->out);
    metrics_samples(api, m->out);
    metrics_state(api, m->out);
    metrics_namer(api, m->out);
    attachment_metrics(api->engine.attaching, m->out);
    metrics_recorder(api, m->out);
    metrics_jvms(api, m->viewer, m->out);
    moment_metrics(api, m->viewer, m->out);
    signal_metrics(api, m->viewer, m->out);
    return 0;
}

int backend_metrics(void *ctx, const struct viewer *v, struct buf *out, struct error *err)
{
    struct api *api = ctx;
    struct metrics m = { .viewer = v, .out = out };
    int r = api_ask(api, call_metrics, &m, err);
    unsigned stands_s = mailbox_stalled_s(api->engine.mailbox);
    struct readers_stats readers;

    if (r == 0)
        heap_metrics_write(&m.heaps, v->whole, out);
    heap_metrics_deinit(&m.heaps);
    if (r == BACKEND_UNAVAILABLE && stands_s) /* the other metrics are still written */
        r = 0;
    lookout_metrics(api->lookout, v, out);
    service_metrics(api, v, out);
    if (!v->whole)
        return r == 0 ? out->error : r;
    if (r == 0) {
        push_metrics(api, out);
        metric(out, "flamed_stalled_seconds", "gauge",
               "Seconds without progress of the engine, whatever the cause; 0 below 5 s.",
               stands_s);
        metric(out, "flamed_quarantined", "gauge",
               "Quarantined processes and containers: flamed does not read them, because reading "
               "them stalled it before.",
               (double)quarantine_count(api->engine.opts->quarantine));
        readers_stats(&readers);
        metric(out, "flamed_readings_held", "gauge",
               "Readings of processes that wait for a file system now; 32 at most.",
               (double)readers.held);
        metric(out, "flamed_readings_left_total", "counter",
               "Readings of processes that were given up, because a file system did not answer in "
               "time.",
               (double)readers.left);
        metric(out, "flamed_readings_refused_total", "counter",
               "Readings that were skipped, because another one of the same container or user "
               "still waits.",
               (double)readers.refused);
        metric(out, "flamed_looks_put_off_total", "counter",
               "Readings of mappings that were put off, because their container or user had used "
               "up its share.",
               (double)readers.looks_put_off);
    }
    if (r == 0 && api->engine.store) {
        store_stats(api->engine.store, &m.store);
        store_problem(api->engine.store, m.store_problem, sizeof(m.store_problem));
        m.waiting = store_writer_waiting(api->engine.store_writer);
        metrics_store(&m);
        history_metrics(api, m.out);
    }
    return r == 0 ? out->error : r;
}
