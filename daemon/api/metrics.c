/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of flamed: its costs, what it sees, and where JVMs spend CPU time, as Prometheus text. */
#include "api/api_impl.h"
#include "api/exposition.h"
#include "api/heap.h"
#include "api/lookout.h"
#include "attach/attachment.h"
#include "base/version.h"
#include "namer/namer.h"
#include "proc/stall_readers.h"

#define HELPERS_TEXT_MAX 4096 /* bytes of a list of pids */

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

/* The helpers that the broker started before it lost the right to start programs. One row per
 * name. */
struct helper_row {
    const char *name; /* comm of the helper */
    uint64_t ticks;
};

/* Adds the CPU time of @pid's children with these names, and of the children of these (a launcher's
 * workers). The time of processes that they ran, such as an attach, counts when such a process has
 * ended. */
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

    metric_head(out, "flamed_build_info", "Version of flamed.");
    buf_printf(out, "flamed_build_info{version=\"" FLAMED_VERSION "\"} 1\n");
    metric_head(out, "flamed_cpu_seconds_total", "CPU time that flamed's own processes used.");
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
    metric_head(out, "flamed_resident_memory_bytes", "Memory of flamed's own processes.");
    for (size_t i = 0; i < ARRAY_SIZE(us); i++) {
        uint64_t bytes = 0;

        proc_read_rss(api->engine.opts->proc_fd, us[i].pid, &bytes);
        buf_printf(out, "flamed_resident_memory_bytes{process=\"%s\"} %llu\n", us[i].name,
                   (unsigned long long)bytes);
    }
}

static void metrics_samples(struct api *api, struct buf *out)
{
    const struct perf_rings *perf = api->engine.sampling->perf;
    struct sample_stats s = { 0 };
    uint64_t malformed = 0;

    broker_sample_stats(api->engine.broker, &s, NULL);
    if (perf) { /* the broker does not count these samples */
        s.samples = api->engine.dispatch->samples;
        s.lost_ring = perf_rings_lost(perf) + api->engine.dispatch->copies_lost;
        s.hidden = api->engine.captures->counts.hidden_copies;
        malformed = perf_rings_malformed(perf);
    } else if (api->engine.sampling->ring) {
        malformed = ring_malformed(api->engine.sampling->ring);
    }
    metric(out, "flamed_samples_total", "Samples taken.", s.samples);
    metric_by(out, "flamed_samples_lost_total", "Samples that were taken but did not arrive.",
              "reason", { "ring_full", s.lost_ring }, { "budget", s.lost_budget },
              { "malformed", malformed }, { "other", s.lost_other },
              { "process_table_full", api->engine.dispatch->unmatched });
    metric(out, "flamed_samples_hidden_total",
           "Ticks in processes outside flamed's own pid namespace, which it cannot see.", s.hidden);
    metric(out, "flamed_sample_seconds_total", "CPU time that taking samples cost in the kernel.",
           (double)s.time_ns / 1e9);
    metric(out, "flamed_samples_unknown_total", "Samples with a frame that has no name.",
           api->engine.dispatch->naming.unknown);
    metric(out, "flamed_samples_held", "Samples that wait until their symbols have been read.",
           api->engine.dispatch->pending.count);
    metric(out, "flamed_samples_hurried_total",
           "Samples that were named before the symbols of one of their files had been read.",
           api->engine.dispatch->pending.hurried);
    delays_write(&api->engine.dispatch->delays, "flamed_sample_delay_seconds",
                 "Time from taking a sample until its frames were named.", out);
    metric_head(out, "flamed_samples_truncated_total",
                "Samples whose stack does not reach the thread's start, by reason.");
    for (size_t i = 0; i < ARRAY_SIZE(api->engine.dispatch->naming.truncated); i++) {
        if (api->engine.dispatch->naming.truncated[i])
            buf_printf(out, "flamed_samples_truncated_total{reason=\"%s\"} %llu\n",
                       profile_end_name((unsigned)i),
                       (unsigned long long)api->engine.dispatch->naming.truncated[i]);
    }
}

/* Writes the metrics of the namer: raw names by reason, and the costs of the resolved names. */
static void metrics_namer(struct api *api, struct buf *out)
{
    struct namer_stats s;

    namer_stats(api->engine.namer, &s);
    metric(out, "flamed_symbols_demangled_total", "Mangled symbols that got a readable name.",
           s.named);
    metric_by(out, "flamed_symbols_raw_total",
              "Mangled symbols that are shown as they are, by reason.", "reason",
              { "not_mangled", s.none }, { "too_slow", s.timed_out }, { "fault", s.died },
              { "owner_budget", s.refused });
    metric(out, "flamed_symbols_waiting", "Symbols that wait for a readable name.", s.waiting);
    metric(out, "flamed_namer_cpu_seconds_total", "CPU time of the process that demangles symbols.",
           (double)s.cpu_ns / 1e9);
}

static void metrics_state(struct api *api, struct buf *out)
{
    const struct naming *naming = &api->engine.dispatch->naming;
    struct discover_stats d;
    struct symbolizer_stats s;

    discover_stats(api->engine.discover, &d);
    symbolizer_stats(api->engine.symbolizer, &s);
    metric(out, "flamed_captures_running", "Captures that run now.",
           api->engine.captures->capture_count);
    metric(out, "flamed_captures_bytes", "Memory of running captures: samples, stacks, threads.",
           api->engine.captures->budget.used_bytes);
    metric(out, "flamed_profiles_bytes",
           "Memory of profiles of captures that are being answered or stored.",
           profile_counted_bytes());
    metric(out, "flamed_captures_max_bytes",
           "Limit for the memory of running captures and of these profiles.",
           api->engine.captures->budget.max_bytes);
    metric(out, "flamed_captures_events_late_total",
           "Events that began later than their capture, because the kernel was still installing "
           "their programs or probes.",
           api->engine.captures->counts.events_late);
    metric(out, "flamed_captures_events_left_out_total",
           "Requested events that a capture ended without, because they could not be sampled.",
           api->engine.captures->counts.events_left_out);
    metric(out, "flamed_jvm_patterns_spent_total",
           "Owners whose JVMs a regular expression of jvm= or a matcher may miss: too many steps "
           "on 4 of their names, or on 64 in all.",
           match_spent_total());
    metric(out, "flamed_captures_thinned_total",
           "Times that a capture's samples were halved to make room for another's.",
           api->engine.captures->counts.thinned);
    metric(out, "flamed_captures_cut_short_total",
           "Captures that ended early because the memory for captures was used up.",
           api->engine.captures->counts.cut_short);
    metric(out, "flamed_sampling_sets",
           "Sampling sessions that run now, with the flight recorder's: captures of one rate share "
           "one.",
           sample_sets_used(&api->engine.captures->sets));
    metric(out, "flamed_processes", "Processes known.", d.processes);
    metric(out, "flamed_jvms", "JVMs known.", d.jvms);
    metric(out, "flamed_sideband_records_total", "Records of fork, exec and exit read.",
           d.sideband_records);
    metric(out, "flamed_sideband_lost_total", "Records of fork, exec and exit lost.",
           d.sideband_lost);
    metric(out, "flamed_sideband_malformed_bytes_total",
           "Bytes dropped because they were no records of fork, exec and exit.",
           d.sideband_malformed);
    metric(out, "flamed_process_sweeps_total", "Times /proc was read in full.", d.sweeps);
    metric(out, "flamed_process_table_full_total", "Processes and samples without room.",
           d.table_full);
    metric(out, "flamed_mappings_left_out",
           "Executable mappings of sampled processes that found no room.",
           unwinding_all_left_out(api->engine.captures->unwinding));
    metric(out, "flamed_unwind_refused_total",
           "Processes, and files with unwind tables, that found no room in their owner's share.",
           unwinding_refused(api->engine.captures->unwinding));
    metric(out, "flamed_elf_files", "Symbol files held.", s.elf_files);
    metric(out, "flamed_elf_reading", "Symbol files being read.", s.elf_reading);
    metric(out, "flamed_elf_unanswered_total",
           "Times that the file system of a symbol file did not answer.", s.elf_unanswered);
    metric(out, "flamed_elf_bytes", "Memory of symbol files.", s.elf_bytes);
    metric(out, "flamed_elf_nameless",
           "Symbol files whose symbols are left out, as their owner has no memory left for them.",
           s.elf_nameless);
    metric(out, "flamed_elf_left_out_total",
           "Times that the symbols of a file were left out, as their owner had no memory left for "
           "them.",
           s.elf_left_out);
    metric(out, "flamed_inlines_refused_total",
           "Files whose inlined functions and lines found no room in their owner's share.",
           s.inlines_refused);
    metric(out, "flamed_shares_miscounted_total",
           "Times that more of an owner's share was released than taken, which is a bug of flamed.",
           shares_miscounted());
    metric(out, "flamed_names_bytes", "Memory of the table of frames and names.",
           frame_table_bytes(naming->frames));
    metric(out, "flamed_names_refused_total",
           "Frames and names that found no room in their owner's share.",
           (naming->refused + frame_table_refused(naming->frames)));
}

/* Writes the counts and costs of passes over threads that wait. */
static void metrics_looks(const struct looks *l, struct buf *out)
{
    struct looks_stats s;

    if (!l)
        return;
    looks_stats(l, &s);
    metric(out, "flamed_looks_total", "Passes over the threads of JVMs.", s.passes);
    metric(out, "flamed_looks_seconds_total",
           "CPU time of passes over the threads of JVMs, without walks of stacks.",
           (double)s.time_ns / 1e9);
    metric(out, "flamed_looks_threads", "Threads of JVMs in the last pass.", s.threads);
    metric(out, "flamed_looks_walked_total",
           "Threads that had run between two passes, and whose stack was walked.", s.walked);
    metric(out, "flamed_looks_passed_over_total",
           "Threads that had run between two passes but were not walked; the walked ones stand for "
           "them.",
           s.passed_over);
    metric(
        out, "flamed_looks_alike_total",
        "Threads that had run between two passes but waited as at their last walk; they count to "
        "its place.",
        s.alike);
    metric(out, "flamed_looks_left_out_total",
           "Threads that passes skipped, because the table of threads was full.", s.left_out);
    metric(out, "flamed_looks_dropped_total",
           "Samples of waits that did not fit into the flight recorder.", s.dropped);
    metric(out, "flamed_looks_lost_seconds_total", "Time of threads whose place was not known.",
           (double)s.lost_ns / 1e9);
}

static void metrics_recorder(struct api *api, struct buf *out)
{
    struct flight_stats f = { 0 };

    if (!*api->engine.recorder)
        return;
    flight_stats((*api->engine.recorder)->flight, &f);
    metric(out, "flamed_flight_recorder_bytes", "Memory of the flight recorder.", f.bytes);
    metric(out, "flamed_flight_recorder_samples_total", "Samples recorded.", f.samples);
    metric(out, "flamed_flight_recorder_dropped_total", "Samples not recorded.", f.dropped);
    metric(out, "flamed_flight_recorder_seconds", "How far back it reaches.",
           f.oldest_ns ? (double)(clock_monotonic_ns() - f.oldest_ns) / 1e9 : 0.0);
    metrics_looks((*api->engine.recorder)->looks, out);
}

/* Counters of operations of JVMs. */
static const struct operation_counter {
    const char *name, *help;
    enum recorded_use use;
    double unit;
} OPERATION_COUNTERS[] = {
    { "flamed_jvm_operation_cpu_seconds_total",
      "CPU time of a JVM by the operation of its requests, estimated from the always-on samples, "
      "up to 10 s late.",
      RECORDED_CPU_NS, 1e9 },
    { "flamed_jvm_operation_wait_seconds_total",
      "Time that threads of a JVM were blocked within requests, by operation, estimated from the "
      "always-on samples, up to 10 s late.",
      RECORDED_WAIT_NS, 1e9 },
    { "flamed_jvm_operation_allocated_bytes_total",
      "Bytes that a JVM allocated within requests, by operation, estimated from the samples of "
      "recorder_alloc, up to 10 s late.",
      RECORDED_ALLOC_BYTES, 1 },
};

struct operation_metrics {
    struct recorder *rec;
    const struct target *seen;
    const struct operation_counter *counter;
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
        buf_printf(a->out, "%s{", a->counter->name);
        metric_jvm_labels(a->out, p);
        buf_add_char(a->out, ',');
        metric_label(a->out, "operation", of->items[i].name);
        buf_printf(a->out, "} %.6f\n",
                   (double)of->items[i].used[a->counter->use] / a->counter->unit);
    }
    return 0;
}

static void metrics_operations(struct api *api, const struct target *seen, struct buf *out)
{
    struct operation_metrics a = { .rec = *api->engine.recorder, .seen = seen, .out = out };

    for (size_t i = 0; i < ARRAY_SIZE(OPERATION_COUNTERS); i++) {
        a.counter = &OPERATION_COUNTERS[i];
        if (a.counter->use == RECORDED_ALLOC_BYTES && !a.rec->allocs)
            continue;
        metric_head(out, a.counter->name, a.counter->help);
        discover_each(api->engine.discover, metrics_operation, &a);
    }
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
    metric_head(out, "flamed_jvm_cpu_seconds_total",
                "CPU time of a JVM by what it was spent on, estimated from the always-on samples.");
    discover_each(api->engine.discover, metrics_jvm, &a);
    if (api->engine.opts->recorder_requests)
        metrics_operations(api, seen, out);
}

static void metrics_store(const struct metrics *m)
{
    metric(m->out, "flamed_store_bytes", "Size of the store.", m->store.bytes);
    metric(m->out, "flamed_store_names_bytes",
           "Memory of the names and stacks that stored captures share.", m->store.names_bytes);
    metric(m->out, "flamed_store_captures", "Captures stored.", m->store.captures);
    metric(m->out, "flamed_store_puts_total", "Captures written.", m->store.puts);
    metric(m->out, "flamed_store_put_failures_total", "Captures that could not be written.",
           m->store.put_failures);
    metric(m->out, "flamed_store_waiting", "Finished captures that wait to be written.",
           m->waiting);
    metric_by(m->out, "flamed_store_dropped_total", "Captures dropped by retention.", "reason",
              { "age", m->store.dropped_by_age }, { "size", m->store.dropped_by_size });
    metric(m->out, "flamed_store_healthy", "1 when captures can be written.",
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

int backend_metrics(void *ctx, const struct viewer *v, bool exemplars, struct buf *out,
                    struct error *err)
{
    struct api *api = ctx;
    struct metrics m = { .viewer = v, .out = out };
    int r = api_ask(api, call_metrics, &m, err);
    unsigned stands_s = mailbox_stalled_s(api->engine.mailbox);
    struct readers_stats readers;

    if (r == 0)
        heap_metrics_write(&m.heaps, v->whole, out);
    heap_metrics_deinit(&m.heaps);
    if (r == BACKEND_UNAVAILABLE && stands_s) /* the disk stalls: write the other metrics */
        r = 0;
    lookout_metrics(api->lookout, v, out);
    service_metrics(api, v, exemplars, out);
    if (!v->whole)
        return r == 0 ? out->error : r;
    if (r == 0) {
        push_metrics(api, out);
        metric(out, "flamed_stalled_seconds",
               "Seconds without progress of the engine, whatever the cause; 0 below 5 s.",
               stands_s);
        metric(out, "flamed_quarantined",
               "Quarantined processes and containers: flamed does not read them, because reading "
               "them stalled it before.",
               quarantine_count(api->engine.opts->quarantine));
        readers_stats(&readers);
        metric(out, "flamed_readings_held",
               "Readings of processes that wait for a file system now; 32 at most.", readers.held);
        metric(out, "flamed_readings_left_total",
               "Readings of processes that were given up, because a file system did not answer in "
               "time.",
               readers.left);
        metric(out, "flamed_readings_refused_total",
               "Readings that were skipped, because another one of the same container or user "
               "still waits, or because those before took up its share of time.",
               readers.refused);
        metric(out, "flamed_looks_put_off_total",
               "Readings of mappings that were put off, because their container or user had used "
               "up its share.",
               readers.looks_put_off);
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
