/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot/ on running JVMs: proves the rule that turns a pc into inlined frames and lines, with
 * tests/jvm/java/HotspotProof.java. That program reports the times of its phases. Each sampled pc
 * must resolve to the methods and lines of its phase.
 */
#include "base/clock.h"
#include "hotspot/hotspot.h"
#include "live_jvm.h"
#include "live_perf.h"

#include "suite.h"

#define SAMPLES_MAX 8192
#define PHASES_MAX 32768
#define FRAMES_MAX 12
#define PROOF "HotspotProof"
#define SECONDS 2
#define RUNS_MAX 10
#define EDGE_NS 20000 /* closer to a phase's end, reading the clock itself counts */

static const int RELEASES[] = { 8, 11, 17, 21, 25, 26 };

static const struct {
    const char *name;
    const char *options[4];
    bool every_instruction; /* true: every instruction has debug information */
    bool c1;
} MODES[] = {
    { "C2", { NULL }, false, false },
    { "C2 with DebugNonSafepoints",
      { "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", NULL },
      true,
      false },
    { "C1", { "-XX:TieredStopAtLevel=1", NULL }, false, true },
    { "C1 with DebugNonSafepoints",
      { "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-XX:TieredStopAtLevel=1",
        NULL },
      true,
      true },
};

/* ---- the truth: phases and their stacks, leaf first, by marks in the source ---- */

struct expected_frame {
    const char *method, *first, *last;
};

static const struct {
    const char *phase;
    bool caller; /* true: starts at the first return address into the proof's compiled code, not
                  * at the pc */
    struct expected_frame frames[7];
} TRUTH[] = {
    { "A", false, { { "loopA", "A-FIRST", "A-LAST" }, { "twoLoops", "CALL-A", "CALL-A" } } },
    { "B", false, { { "loopB", "B-FIRST", "B-LAST" }, { "twoLoops", "CALL-B", "CALL-B" } } },
    { "DEEP",
      false,
      { { "deep5", "DEEP-FIRST", "DEEP-LAST" },
        { "deep4", "DEEP-4", "DEEP-4" },
        { "deep3", "DEEP-3", "DEEP-3" },
        { "deep2", "DEEP-2", "DEEP-2" },
        { "deep1", "DEEP-1", "DEEP-1" } } },
    { "SITE-1", true, { { "via", "VIA", "VIA" }, { "callers", "SITE-1", "SITE-1" } } },
    { "SITE-2", true, { { "via", "VIA", "VIA" }, { "callers", "SITE-2", "SITE-2" } } },
};

struct mark {
    char name[32];
    uint32_t line;
};
static struct mark marks[64];
static size_t mark_count;

static uint32_t line_of(const char *name)
{
    for (size_t i = 0; i < mark_count; i++) {
        if (strcmp(marks[i].name, name) == 0)
            return marks[i].line;
    }
    ck_abort_msg("no mark %s", name);
}

static void read_marks(void)
{
    FILE *f = fopen(FLAMED_TEST_DATA "/../jvm/java/" PROOF ".java", "re");
    char line[512];

    ck_assert_ptr_nonnull(f);
    mark_count = 0;
    for (uint32_t n = 1; fgets(line, sizeof(line), f); n++) {
        char *mark = strstr(line, " // ");

        if (!mark || !strpbrk(line, ";{}") || mark_count == ARRAY_SIZE(marks))
            continue;
        mark[4 + strcspn(mark + 4, " \n")] = '\0';
        snprintf(marks[mark_count].name, sizeof(marks[0].name), "%s", mark + 4);
        marks[mark_count++].line = n;
    }
    fclose(f);
}

/* ---- what was seen ---- */

struct frame {
    char method[24];
    uint32_t line;
};

struct stack {
    int count;
    bool unsure; /* the first frame, or a frame inlined there, is unsure */
    struct frame frames[FRAMES_MAX];
};

struct seen {
    uint64_t time_ns;
    struct stack leaf;         /* at the pc */
    struct stack at_or_behind; /* with the rule for return addresses */
    struct stack caller;       /* at the first return address into compiled code of the proof */
};

static struct run {
    struct hotspot_vm *vm;
    struct live_jvm jvm;
    struct seen seen[SAMPLES_MAX];
    size_t seen_count;
    struct {
        char name[16];
        uint64_t start_ns, end_ns;
    } phases[PHASES_MAX];
    size_t phase_count;
} run;

static void stop(void)
{
    run.vm = hotspot_vm_close(run.vm);
    live_stop_all();
}

static void resolve(struct run *r, const struct hotspot_code *code, uint64_t pc, bool is_return,
                    struct stack *ret)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    int n = hotspot_code_locate(r->vm, code, pc, is_return, at);

    ret->count = 0;
    ret->unsure = n > 0 && at[0].leaf == HOTSPOT_LEAF_UNSURE;
    for (int i = 0; i < n && i < FRAMES_MAX; i++) {
        struct frame *f = &ret->frames[ret->count++];
        struct hotspot_method m;

        if (hotspot_method_read(r->vm, at[i].method, &m) != 0)
            ck_abort_msg("a method of compiled code cannot be read");
        ck_assert_int_eq(at[i].inlined, i + 1 < n);
        snprintf(f->method, sizeof(f->method), "%s%.*s",
                 m.class_name_n == strlen(PROOF) && memcmp(m.class_name, PROOF, m.class_name_n) == 0
                     ? ""
                     : "other ",
                 m.name_n, m.name);
        f->line = hotspot_method_line(r->vm, at[i].method, at[i].bci);
    }
}

static void see(void *cookie, const struct live_sample *s)
{
    struct run *r = cookie;
    struct hotspot_code code;
    struct seen *seen;

    if (r->seen_count == SAMPLES_MAX)
        return;
    seen = &r->seen[r->seen_count];
    *seen = (struct seen){ .time_ns = s->time_ns };
    if (hotspot_code_find(r->vm, s->pc, &code) == 0 && code.kind == HOTSPOT_CODE_COMPILED) {
        resolve(r, &code, s->pc, false, &seen->leaf);
        resolve(r, &code, s->pc, true, &seen->at_or_behind);
        for (size_t i = 0; i < s->words; i++) {
            struct hotspot_code caller;

            if (!hotspot_vm_in_code_cache(r->vm, s->stack[i]) ||
                hotspot_code_find(r->vm, s->stack[i] - 1, &caller) != 0 ||
                caller.kind != HOTSPOT_CODE_COMPILED || caller.blob == code.blob)
                continue;
            resolve(r, &caller, s->stack[i], true, &seen->caller);
            break;
        }
    }
    r->seen_count++;
}

static bool frame_is(const struct frame *f, const struct expected_frame *want)
{
    return strcmp(f->method, want->method) == 0 && f->line >= line_of(want->first) &&
           f->line <= line_of(want->last);
}

static bool stack_is(const struct stack *s, const struct expected_frame *want)
{
    int n = 0;

    for (; want[n].method; n++) {
        if (n >= s->count || !frame_is(&s->frames[n], &want[n]))
            return false;
    }
    return n == s->count && !s->unsure;
}

/* Returns true if @s is marked unsure and its frames are callers in @want. */
static bool stack_is_callers(const struct stack *s, const struct expected_frame *want)
{
    int n = 0;

    while (want[n].method)
        n++;
    if (!s->unsure || s->count > n)
        return false;
    want += n - s->count;
    for (int i = 0; i < s->count; i++) {
        bool same = strcmp(s->frames[i].method, want[i].method) == 0;

        if (i == 0 ? !same : !frame_is(&s->frames[i], &want[i]))
            return false;
    }
    return true;
}

static void print_stack(const struct stack *s)
{
    for (int i = 0; i < s->count; i++)
        fprintf(stderr, " %s:%u", s->frames[i].method, s->frames[i].line);
    fprintf(stderr, "\n");
}

static const struct seen *in_phase(const struct run *r, const struct seen *s, const char *phase)
{
    for (size_t i = 0; i < r->phase_count; i++) {
        if (strcmp(r->phases[i].name, phase) == 0 && s->time_ns > r->phases[i].start_ns + EDGE_NS &&
            s->time_ns + EDGE_NS < r->phases[i].end_ns)
            return s;
    }
    return NULL;
}

/* ---- running the proof ---- */

static struct hotspot_vm *open_vm(struct live_jvm *j)
{
    uint64_t deadline = clock_monotonic_ns() + 10 * NSEC_PER_SEC;
    struct error err = ERROR_NULL;
    struct hotspot_vm *vm;
    int r;

    while ((r = hotspot_vm_open(j->mem_fd, NULL, j->libjvm_base, &vm, &err)) == HOTSPOT_NOT_READY) {
        ck_assert_msg(clock_monotonic_ns() < deadline, "never ready");
        usleep(2000);
    }
    ck_assert_msg(r == 0, "open: %d %s", r, err.msg);
    return vm;
}

struct find_thread {
    const char *name;
    int32_t tid;
    int count;
};

static void see_thread(void *cookie, const struct hotspot_thread *t)
{
    struct find_thread *f = cookie;

    ck_assert_uint_ne(t->java_thread, 0);
    f->count++;
    if (span_eq_str(t->name, f->name))
        f->tid = t->ns_tid;
}

static void run_proof(int jdk, const char *const *options, struct run *r)
{
    static const char *const FIXED[] = {
        "-Xmx128m",
        "-XX:-UseOnStackReplacement",
        "-XX:CompileCommand=quiet",
        "-XX:CompileCommand=dontinline," PROOF ".twoLoops",
        "-XX:CompileCommand=dontinline," PROOF ".deep1",
        "-XX:CompileCommand=dontinline," PROOF ".callers",
        "-XX:CompileCommand=dontinline," PROOF ".leaf",
        "-XX:CompileCommand=dontinline," PROOF ".split",
        "-XX:CompileCommand=inline," PROOF ".loop*",
        "-XX:CompileCommand=inline," PROOF ".deep2",
        "-XX:CompileCommand=inline," PROOF ".deep3",
        "-XX:CompileCommand=inline," PROOF ".deep4",
        "-XX:CompileCommand=inline," PROOF ".deep5",
        "-XX:CompileCommand=inline," PROOF ".deepCold",
        "-XX:CompileCommand=inline," PROOF ".via",
        "-XX:CompileCommand=inline," PROOF ".splitLeft",
        "-XX:CompileCommand=inline," PROOF ".splitRight",
    };
    const char *args[LIVE_ARGS_MAX];
    struct find_thread worker = { .name = "proof-\u00e9-\u20ac-worker with a long name" };
    struct live_perf perf;
    char line[256];
    uint64_t end;
    size_t n = 0;

    for (size_t i = 0; options[i]; i++)
        args[n++] = options[i];
    for (size_t i = 0; i < ARRAY_SIZE(FIXED); i++) {
        args[n++] = FIXED[i];
    }
    args[n++] = PROOF;
    args[n] = NULL;
    live_start(jdk, args, &r->jvm);
    live_attach(&r->jvm);
    r->vm = open_vm(&r->jvm);
    ck_assert_int_eq(hotspot_vm_jdk(r->vm), jdk);
    do
        ck_assert_msg(live_line(&r->jvm, line, sizeof(line), 60000), "the proof did not start");
    while (strcmp(line, "ready") != 0);
    ck_assert_int_gt(hotspot_vm_threads(r->vm, HOTSPOT_THREAD_NAME, see_thread, &worker), 5);
    ck_assert_msg(worker.tid > 0, "no thread of that name among %d", worker.count);
    ck_assert_int_eq(live_perf_open(worker.tid, 997, &perf), 0);
    for (end = clock_monotonic_ns() + SECONDS * NSEC_PER_SEC; clock_monotonic_ns() < end;) {
        usleep(10000);
        live_perf_drain(&perf, see, r);
    }
    ck_assert_int_eq(write(r->jvm.in, "x", 1), 1);
    while (live_line(&r->jvm, line, sizeof(line), 30000) && strcmp(line, "end") != 0) {
        unsigned long long from, to;

        if (r->phase_count < PHASES_MAX &&
            sscanf(line, "P %15s %llu %llu", r->phases[r->phase_count].name, &from, &to) == 3) {
            r->phases[r->phase_count].start_ns = from;
            r->phases[r->phase_count++].end_ns = to;
        }
    }
    live_perf_close(&perf);
    stop();
    ck_assert_uint_gt(r->phase_count, 5);
}

#define RIGHT_PERCENT 99 /* of samples must show the phase's stack, or only its callers */

/* Returns how many of 100 samples may stay unsure. JDK 8's C2 compiles counted loops without any
 * record: there only the callers are known. */
static unsigned unsure_at_most(size_t mode, int jdk, size_t truth)
{
    bool bare = jdk == 8 && !MODES[mode].c1 && !MODES[mode].every_instruction &&
                strlen(TRUTH[truth].phase) == 1;

    return bare ? 100 : 4;
}

static struct {
    unsigned total, good, unsure, root;
} counts[ARRAY_SIZE(TRUTH)];

/* Adds the results of one run. Only the sum of all runs is compared with the limits. */
static void count_phases(const struct run *r, size_t mode, int jdk)
{
    for (size_t t = 0; t < ARRAY_SIZE(TRUTH); t++) {
        unsigned total = 0, good = 0, unsure = 0, other = 0, shown = 0, root = 0;
        const struct expected_frame *outer = TRUTH[t].frames;

        while (outer[1].method)
            outer++;
        for (size_t i = 0; i < r->seen_count; i++) {
            const struct seen *s = in_phase(r, &r->seen[i], TRUTH[t].phase);
            const struct stack *got;

            if (!s)
                continue;
            got = TRUTH[t].caller ? &s->caller : &s->leaf;
            total++;
            if (got->count > 0 && strcmp(got->frames[got->count - 1].method, outer->method) == 0)
                root++;
            if (stack_is(got, TRUTH[t].frames)) {
                good++;
            } else if (stack_is_callers(got, TRUTH[t].frames)) {
                unsure++;
            } else if (shown++ < 2) {
                fprintf(stderr, "  %s: leaf", TRUTH[t].phase);
                print_stack(&s->leaf);
                fprintf(stderr, "  %s: caller", TRUTH[t].phase);
                print_stack(&s->caller);
            }
            if (!TRUTH[t].caller && !stack_is(&s->at_or_behind, TRUTH[t].frames))
                other++;
        }
        fprintf(stderr,
                "JDK %d, %s: %s: %u of %u samples right, %u unsure; with the rule of callers %u "
                "wrong\n",
                jdk, MODES[mode].name, TRUTH[t].phase, good, total, unsure, other);
        counts[t].total += total;
        counts[t].good += good;
        counts[t].unsure += unsure;
        counts[t].root += root;
    }
}

/* Returns true if chance would decide. A busy machine gives some ninety samples of a phase. About
 * one of a thousand samples is wrong, so one is wrong in a tenth of the runs. One of ninety is more
 * than 1 %. */
static bool is_undecided(size_t mode, int jdk)
{
    bool undecided = false;

    for (size_t t = 0; t < ARRAY_SIZE(TRUTH); t++) {
        unsigned total = counts[t].total, told = counts[t].good + counts[t].unsure;

        undecided |= total <= 20;
        undecided |= total < 600 && (told * 100 < total * RIGHT_PERCENT ||
                                     counts[t].root * 100 < total * RIGHT_PERCENT ||
                                     counts[t].unsure * 100 > total * unsure_at_most(mode, jdk, t));
    }
    return undecided;
}

static void check_phases(size_t mode, int jdk)
{
    for (size_t t = 0; t < ARRAY_SIZE(TRUTH); t++) {
        unsigned total = counts[t].total, told = counts[t].good + counts[t].unsure;

        ck_assert_uint_gt(total, 20);
        ck_assert_msg(counts[t].root * 100 >= total * RIGHT_PERCENT,
                      "JDK %d, %s, %s: method right in %u of %u", jdk, MODES[mode].name,
                      TRUTH[t].phase, counts[t].root, total);
        ck_assert_msg(told * 100 >= total * RIGHT_PERCENT,
                      "JDK %d, %s, %s: %u right or unsure of %u", jdk, MODES[mode].name,
                      TRUTH[t].phase, told, total);
        ck_assert_msg(counts[t].unsure * 100 <= total * unsure_at_most(mode, jdk, t),
                      "JDK %d, %s, %s: %u unsure of %u", jdk, MODES[mode].name, TRUTH[t].phase,
                      counts[t].unsure, total);
    }
}

/* Two callees in one loop. Only debug information for every instruction tells them apart; then both
 * must get a share. */
static void check_split(const struct run *r, bool apart)
{
    static const struct expected_frame LEFT[] = {
        { "splitLeft", "SPLIT-LEFT", "SPLIT-LEFT" },
        { "split", "SPLIT-CALL-LEFT", "SPLIT-CALL-LEFT" },
        { 0 },
    };
    static const struct expected_frame RIGHT[] = {
        { "splitRight", "SPLIT-RIGHT", "SPLIT-RIGHT" },
        { "split", "SPLIT-CALL-RIGHT", "SPLIT-CALL-RIGHT" },
        { 0 },
    };
    unsigned total = 0, left = 0, right = 0;

    for (size_t i = 0; i < r->seen_count; i++) {
        const struct seen *s = in_phase(r, &r->seen[i], "SPLIT");

        if (!s)
            continue;
        total++;
        left += stack_is(&s->leaf, LEFT);
        right += stack_is(&s->leaf, RIGHT);
    }
    fprintf(stderr, "  split: %u left, %u right of %u\n", left, right, total);
    if (apart) {
        ck_assert_uint_ge(left * 100, total * 20);
        ck_assert_uint_ge(right * 100, total * 20);
        ck_assert_uint_ge((left + right) * 100, total * 80);
    }
}

START_TEST(finds_inlined_frames_and_lines)
{
    int jdk = RELEASES[_i / (int)ARRAY_SIZE(MODES)];
    size_t mode = (size_t)_i % ARRAY_SIZE(MODES);
    if (!live_has(jdk)) {
        fprintf(stderr, "JDK %d: not here, skipped\n", jdk);
        return;
    }
    memset(counts, 0, sizeof(counts));
    read_marks();
    for (int runs = 0; runs == 0 || (runs < RUNS_MAX && is_undecided(mode, jdk)); runs++) {
        memset(&run, 0, sizeof(run));
        run_proof(jdk, MODES[mode].options, &run);
        count_phases(&run, mode, jdk);
    }
    check_phases(mode, jdk);
    check_split(&run, MODES[mode].every_instruction && !MODES[mode].c1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hotspot_live");
    TCase *tc = tcase_create("proof");

    if (geteuid() != 0 || (!live_has(17) && !live_has(25))) {
        fprintf(stderr, "needs root and a JDK\n");
        return 77;
    }
    if (!live_compile(PROOF ".java")) {
        fprintf(stderr, "cannot compile\n");
        return 1;
    }
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, NULL, stop);
    tcase_add_loop_test(tc, finds_inlined_frames_and_lines, 0,
                        (int)(ARRAY_SIZE(RELEASES) * ARRAY_SIZE(MODES)));
    suite_add_tcase(s, tc);
    return suite_run_unforked(s);
}
