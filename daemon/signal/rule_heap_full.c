/* SPDX-License-Identifier: Apache-2.0 */
/* Collections free hardly any of the heap. Or a collection freed it, but the JVM has hardly worked
 * since then: the threads that held the objects have ended, such as by an OutOfMemoryError. */
#include "signal/rule.h"

#define HOLD_S 40.0 /* a collector may need some collections to free a burst of garbage */
/* Part of the heap. Above it, the JVM collects all the time, or throws OutOfMemoryError at the next
 * larger request. */
#define FULL_FIRES 0.92
#define FULL_SOON 0.95
#define QUIET_S 60.0
#define QUIET_BYTES 16384.0 /* bytes a second; with less, a capture sees few new objects */

#define LEAK_S 300.0 /* a rise of this length may be a leak */
#define CLEARLY 0.01 /* by how much the old generation's part must exceed the heap's to count */

/* A JVM with a full heap has stopped working if it uses at most LITTLE of its earlier CPU time. */
#define FREED 0.5     /* greatest part of the heap in use after it was freed */
#define SETTLE_S 30.0 /* the last collections take CPU time, too */
#define LITTLE 0.2
#define WORKED_CPUS 0.005 /* a JVM that used less did not work before */
#define COLLECTS 0.05     /* share of time in collections; above it, CPU time does not show work */

/* A sample of what stays needs newly allocated objects and two collections. */
#define QUIET_REMEDY                                                                               \
    "too little is allocated for a capture of what stays: jcmd {pid} "                             \
    "GC.class_histogram counts it by class; if it is a leak, a larger heap (-Xmx) only delays "    \
    "the end"
#define LEAK_REMEDY                                                                                \
    "see which code allocates it (/profile?pid={pid}&event=alloc&seconds=30), or what stays "      \
    "(/profile?pid={pid}&event=live&seconds=60), and who holds it; if it is a leak, a larger "     \
    "heap (-Xmx) only delays the end"
/* What stayed is gone, and nothing is allocated that could be sampled. */
#define STOPPED_REMEDY                                                                             \
    "see what ran in the minute before (/profile?pid={pid}&from={from}&to={to}), and the JVM's "   \
    "log; then restart it, with -XX:+HeapDumpOnOutOfMemoryError; once its heap grows again, a "    \
    "capture of event=live shows what stays, and which code made it"

static struct rule_heap heap_of(double used, double max, double old_left)
{
    double heap = used / max;
    bool old = old_left > heap + CLEARLY;

    return (struct rule_heap){ old ? old_left : heap, old };
}

struct rule_heap rule_heap_of(const struct numbers *n)
{
    return heap_of(numbers_last(n, NUMBER_HEAP_BYTES), numbers_last(n, NUMBER_HEAP_MAX_BYTES),
                   numbers_last(n, NUMBER_OLD_LEFT));
}

void rule_heap_say(const struct numbers *n, struct rule_finding *f)
{
    struct rule_heap heap = rule_heap_of(n);
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT];

    if (heap.old)
        rule_add(f,
                 "the last collection of the old generation left %.1f %% of it in use, %.0f %% of "
                 "the heap",
                 heap.part * 100,
                 numbers_last(n, NUMBER_HEAP_BYTES) / numbers_last(n, NUMBER_HEAP_MAX_BYTES) * 100);
    else
        rule_add(f, "%s of the heap's %s stay in use after collections",
                 rule_bytes(numbers_last(n, NUMBER_HEAP_BYTES), a),
                 rule_bytes(numbers_last(n, NUMBER_HEAP_MAX_BYTES), b));
}

void rule_heap_classes(const struct rule_view *v, const char *begin, struct rule_finding *f)
{
    if (v->heap && v->heap[0])
        rule_add(f, "; %s: %s", begin, v->heap);
}

/* Appends that no collection happens any more. Then hardly anything is allocated, such as after an
 * OutOfMemoryError, or the service is small and rarely fills its young generation. */
static void add_quiet(const struct numbers *n, struct rule_finding *f)
{
    char text[RULE_BYTES_TEXT];
    double quiet_s = 0;

    for (size_t k = 0; k < n->count; k++) {
        const struct number_point *p = numbers_at(n, n->count - 1 - k);

        if (!(p->v[NUMBER_COLLECTIONS] == 0))
            break;
        quiet_s += (double)p->seconds;
    }
    if (quiet_s < QUIET_S)
        return;
    rule_add(f, "; there was no collection in the last %s", rule_duration(quiet_s, text));
    if (numbers_mean(n, NUMBER_ALLOCATED_PER_SECOND, QUIET_S) <= QUIET_BYTES)
        f->remedy = QUIET_REMEDY;
}

static double part_at(const struct number_point *p)
{
    return heap_of((double)p->v[NUMBER_HEAP_BYTES], (double)p->v[NUMBER_HEAP_MAX_BYTES],
                   (double)p->v[NUMBER_OLD_LEFT])
        .part;
}

/* Returns the CPUs that the JVM used in the oldest @count points, before its heap was full; NAN:
 * not known. */
static double cpus_before(const struct numbers *n, size_t count)
{
    double ns = 0, seconds = 0;

    for (size_t i = 0; i < count; i++) {
        const struct number_point *p = numbers_at(n, i);
        double of_ns = (double)p->v[NUMBER_CPU_NS], s = (double)p->seconds;

        if (isnan(of_ns) || part_at(p) >= FULL_FIRES ||
            (double)p->v[NUMBER_COLLECTION_NS] > COLLECTS * s * (double)NSEC_PER_SEC)
            continue;
        ns += of_ns;
        seconds += s;
    }
    return seconds >= QUIET_S ? ns / seconds / (double)NSEC_PER_SEC : (double)NAN;
}

/* Returns the greatest of three rates, in CPUs: of the last @window_s seconds, of their first
 * minute, and of their last minute. */
static double cpus_since(const struct numbers *n, double window_s)
{
    double minute_s = fmin(window_s, QUIET_S), ns = numbers_sum(n, NUMBER_CPU_NS, window_s),
           first_ns = ns - numbers_sum(n, NUMBER_CPU_NS, window_s - minute_s);

    return fmax(fmax(first_ns / minute_s, ns / window_s) / (double)NSEC_PER_SEC,
                numbers_share(n, NUMBER_CPU_NS, minute_s));
}

/* Judges a JVM with a heap that was full within the last hour, until a collection freed it. While
 * it is unknown whether the JVM still works, a signal that is on stays on. */
static void look_freed(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    char ago[RULE_BYTES_TEXT], freed[RULE_BYTES_TEXT];
    double since_s = 0, later_s, cpus = 0, before = 0;
    size_t k = n->count;

    for (; k > 0 && !(part_at(numbers_at(n, k - 1)) >= RULE_FULL_PART); k--)
        since_s += (double)numbers_at(n, k - 1)->seconds;
    if (k == 0)
        return;
    later_s = since_s - SETTLE_S;
    if (later_s > 0) {
        cpus = cpus_since(n, later_s);
        before = cpus_before(n, k - 1);
        if (!(before >= WORKED_CPUS && cpus <= LITTLE * before))
            return;
    }
    f->strength = RULE_RELEASE;
    rule_say(f, "%s ago the heap was full; then a collection freed %s of it",
             rule_duration(since_s, ago),
             rule_bytes((double)numbers_at(n, k - 1)->v[NUMBER_HEAP_BYTES] -
                            numbers_last(n, NUMBER_HEAP_BYTES),
                        freed));
    if (later_s < QUIET_S)
        return;
    f->strength = 1;
    f->severity = RULE_SEVERITY_MAX;
    f->remedy = STOPPED_REMEDY;
    f->ago_s = since_s;
    rule_add(f,
             "; since then the JVM uses %.1f %% of a CPU, %.1f %% before that: an OutOfMemoryError "
             "may have ended the threads that worked, which its log shows",
             cpus * 100, before * 100);
    if (v->heap_was_full)
        rule_heap_classes(v, "a sample of the full heap was", f);
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double room = numbers_last(n, NUMBER_HEAP_MAX_BYTES) - numbers_last(n, NUMBER_HEAP_BYTES);
    struct rule_heap heap = rule_heap_of(n);
    struct rule_growth g;
    char rose[RULE_BYTES_TEXT], during[RULE_BYTES_TEXT];

    f->strength = heap.part / FULL_FIRES;
    f->value = heap.part * 100;
    f->severity = heap.part >= RULE_FULL_PART ? 3 : heap.part >= FULL_SOON ? 2 : 1;
    if (heap.part < FREED) {
        look_freed(v, f);
        return;
    }
    if (heap.part >= FULL_FIRES * RULE_RELEASE && heap.part < RULE_FULL_PART &&
        rule_growth_find(n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, room, 0, &g))
        f->strength = 0; /* heap-growing reports that */
    rule_heap_say(n, f);
    if (rule_growth_find(n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, room, 0, &g) &&
        g.trend.seconds >= LEAK_S) {
        rule_add(f, "; it rose by %s a minute for %s, as with a leak",
                 rule_bytes(g.trend.per_second * 60, rose), rule_duration(g.trend.seconds, during));
        f->remedy = LEAK_REMEDY;
    }
    add_quiet(n, f);
    rule_heap_classes(v, "a sample of it is", f);
}

const struct signal_rule rule_heap_full = {
    .name = "heap-full",
    .unit = "percent",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy = "give it a larger heap (-Xmx), or see what stays "
              "(/profile?pid={pid}&event=live&seconds=60), and who holds it",
    .hold_s = HOLD_S,
    .look = look,
};
