/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: real stacks of a JVM and of Node.js, walked by frame pointers. */
#include "suite.h"

#include "symbolize/broker_files.h"

#include "base/clock.h"
#include "base/memory_budget.h"
#include "symbol_files.h"
#include "tests/unit/hotspot/live_jvm.h"
#include "unwind/unwind.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RING_PAGES 256
#define DEPTH 20

extern char **environ;

/* ---- stacks ---- */

struct stacks {
    int fd;
    void *ring;
};

static struct memory_budget memory;

static bool stacks_open(pid_t tid, struct stacks *ret)
{
    struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof(a),
                                 .config = PERF_COUNT_SW_CPU_CLOCK,
                                 .sample_period = NSEC_PER_SEC / 499,
                                 .sample_type = PERF_SAMPLE_CALLCHAIN,
                                 .exclude_kernel = 1,
                                 .exclude_callchain_kernel = 1 };

    ret->fd = (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (ret->fd < 0)
        return false;
    ret->ring = mmap(NULL, (RING_PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
    return ret->ring != MAP_FAILED;
}

static void stacks_close(struct stacks *s)
{
    munmap(s->ring, (RING_PAGES + 1) * 4096);
    close(s->fd);
}

typedef void (*stack_fn)(void *cookie, const uint64_t *pcs, size_t n);

static void stacks_drain(struct stacks *s, stack_fn fn, void *cookie)
{
    struct perf_event_mmap_page *page = s->ring;
    const char *data = (const char *)s->ring + 4096;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;

    while (at < head) {
        static uint64_t words[8192];
        struct perf_event_header h;
        size_t n = 0;

        for (size_t i = 0; i < sizeof(h); i++)
            ((char *)&h)[i] = data[(at + i) % (RING_PAGES * 4096)];
        for (size_t i = 0; i < h.size - sizeof(h); i++)
            ((char *)words)[i] = data[(at + sizeof(h) + i) % (RING_PAGES * 4096)];
        if (h.type == PERF_RECORD_SAMPLE) {
            uint64_t count = MIN(words[0], (uint64_t)ARRAY_SIZE(words) - 1);

            for (uint64_t i = 1; i <= count; i++) {
                if (words[i] < (uint64_t)PERF_CONTEXT_MAX)
                    words[n++] = words[i];
            }
            fn(cookie, words, n);
        }
        at += h.size;
    }
    __atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
}

/* ---- what was seen ---- */

static struct local_files files;
static struct frame_table *frames;
static struct symbolizer *symbolizer;
static struct process process;
static struct named_stack stack;

struct tally {
    const char *want; /* name of the function that runs */
    unsigned samples, with_want, deep, with_run, unknown, lines;
    uint64_t frames, ns, worst_ns;
};

static struct span string_of(uint32_t id)
{
    return frame_table_get_string(frames, id);
}

static void take(void *cookie, const uint64_t *pcs, size_t n)
{
    struct sample_record rec = { .user_count = (uint16_t)n, .user_end = UNWIND_END_ROOT };
    struct tally *t = cookie;
    uint64_t began_ns = clock_monotonic_ns(), took_ns;
    unsigned down = 0;
    bool want = false, run = false;

    if (!n)
        return;
    symbolizer_stack(symbolizer, &process, &rec, pcs, true, &stack);
    took_ns = clock_monotonic_ns() - began_ns;
    t->ns += took_ns;
    t->worst_ns = MAX(t->worst_ns, took_ns);
    for (size_t i = 0; i < stack.count; i++) {
        const struct frame *f = frame_table_get(frames, stack.frames[i]);
        const struct function *fn = frame_table_get_function(frames, f->function);
        struct span name = string_of(fn->name), class_name = string_of(fn->class_name);

        t->lines += f->line > 0;
        if (t->want)
            want |= memmem(name.p, name.n, t->want, strlen(t->want)) != NULL;
        else if (span_eq_str(class_name, "Deep"))
            want |= span_eq_str(name, "leaf");
        down += span_eq_str(class_name, "Deep") && span_eq_str(name, "down");
        run |= span_eq_str(class_name, "java.lang.Thread") && span_eq_str(name, "run");
    }
    t->samples++;
    t->frames += stack.count;
    t->with_want += want;
    t->deep += down >= DEPTH;
    t->with_run += run;
    t->unknown += stack.unknown > 0;
}

static void setup(void)
{
    static const struct symbolizer_opts OPTS = { .elf_files_max = 256,
                                                 .memory = &memory,
                                                 .perf_map_max_bytes = (size_t)64 << 20 };
    struct symbol_files source;

    files = (struct local_files){ .kallsyms = "/proc/kallsyms" };
    source = local_symbol_files(&files);
    process = (struct process){ .ns_depth = 1, .mem_fd = -1 };
    ck_assert_int_eq(frame_table_new(1 << 20, 1 << 26, &frames), 0);
    memory_budget_init(&memory);
    ck_assert_int_eq(symbolizer_new_from(&source, frames, &OPTS, &symbolizer, NULL), 0);
}

static void teardown(void)
{
    symbolizer_forget(symbolizer, &process);
    hotspot_vm_close(process.vm);
    symbolizer = symbolizer_free(symbolizer);
    frames = frame_table_free(frames);
    live_stop_all();
}

/* Samples for that long, and further until there are more than @least: a busy machine gives the
 * thread less time. */
static void sample(struct stacks *s, unsigned tenths, unsigned least, struct tally *t)
{
    for (unsigned i = 0; i < tenths * 10 || (t->samples <= least && i < tenths * 100); i++) {
        usleep(10000);
        stacks_drain(s, take, t);
    }
    printf("%u samples: wanted %u, deep %u, Thread.run %u, with unknown %u, lines %u; %llu "
           "frames, %.0f ns a frame, worst %.1f ms a stack\n",
           t->samples, t->with_want, t->deep, t->with_run, t->unknown, t->lines,
           (unsigned long long)t->frames, (double)t->ns / (double)MAX(t->frames, (uint64_t)1),
           (double)t->worst_ns / 1e6);
}

/* Waits until a thread has used that much CPU time: then the same code is compiled on a busy
 * machine. */
static void wait_cpu(pid_t pid, pid_t tid, uint64_t ns)
{
    uint64_t until_ns = clock_monotonic_ns() + 60 * NSEC_PER_SEC, used_ns = 0;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
    while (used_ns < ns && clock_monotonic_ns() < until_ns) {
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        unsigned long long used = 0;

        ck_assert(f && fscanf(f, "%llu", &used) == 1);
        used_ns = used;
        usleep(10000);
    }
}

/* ---- a JVM ---- */

static pid_t thread_named(pid_t pid, const char *comm)
{
    char path[64], name[64];
    pid_t found = 0;
    struct dirent *e;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && !found && (e = readdir(dir))) {
        _cleanup_fclose_ FILE *f = NULL;
        long tid = strtol(e->d_name, NULL, 10);

        snprintf(path, sizeof(path), "/proc/%d/task/%ld/comm", pid, tid);
        f = fopen(path, "re");
        if (f && fgets(name, sizeof(name), f) && strncmp(name, comm, strlen(comm)) == 0)
            found = (pid_t)tid;
    }
    if (dir)
        closedir(dir);
    return found;
}

static const int JDKS[] = { 17, 25 };

START_TEST(names_stacks_of_a_jvm)
{
    /* All code of the thread is compiled at once, as interpreted frames get no names in walks by
     * frame pointers. */
    static const char *const ARGS[] = { "-XX:+PreserveFramePointer",
                                        "-Xcomp",
                                        "-XX:CompileCommand=quiet",
                                        "-XX:CompileCommand=compileonly,Deep*::*",
                                        "-XX:CompileCommand=compileonly,java.lang.Thread::run*",
                                        "Deep",
                                        "20",
                                        "1",
                                        NULL };
    struct live_jvm jvm;
    struct tally t = { 0 };
    struct error err = ERROR_NULL;
    struct stacks s;
    char line[64];
    pid_t tid;
    int r = HOTSPOT_NOT_READY;

    if (!live_compile("Deep.java") || !live_has(JDKS[_i])) {
        printf("skipped: no JDK %d\n", JDKS[_i]);
        return;
    }
    live_start(JDKS[_i], ARGS, &jvm);
    ck_assert(live_line(&jvm, line, sizeof(line), 60000));
    live_attach(&jvm);
    for (int i = 0; i < 100 && r == HOTSPOT_NOT_READY; i++) {
        r = hotspot_vm_open(jvm.mem_fd, NULL, jvm.libjvm_base, &process.vm, &err);
        usleep(50000);
    }
    ck_assert_msg(r == 0, "%s", err.msg);
    process.id.host_pid = jvm.pid;
    process.jvm = JVM_READY;
    tid = thread_named(jvm.pid, "deep-0");
    ck_assert_int_gt(tid, 0);
    ck_assert(span_eq_str(string_of(symbolizer_thread_name(symbolizer, &process, tid, "deep-0")),
                          "deep-0"));
    ck_assert(stacks_open(tid, &s));
    sleep(2); /* until the recursion is compiled at its last level */
    wait_cpu(jvm.pid, tid, NSEC_PER_SEC);
    stacks_drain(&s, take, &(struct tally){ 0 });
    sample(&s, 30, 300, &t);
    stacks_close(&s);
    ck_assert_uint_gt(t.samples, 300);
    ck_assert_uint_ge(t.with_want * 100, t.samples * 95);
    ck_assert_uint_ge(t.deep * 100, t.samples * 95);
    ck_assert_uint_ge(t.with_run * 100, t.samples * 95);
    ck_assert_uint_le(t.unknown * 100, t.samples * 5);
    ck_assert_uint_ge(t.lines, t.samples * DEPTH);
    /* After its end, the read names still answer. */
    live_stop(&jvm);
    t = (struct tally){ 0 };
    take(&t, (uint64_t[]){ 0x1000 }, 1);
    ck_assert_uint_eq(t.unknown, 1);
}
END_TEST

/* ---- Node.js ---- */

START_TEST(names_stacks_of_node)
{
    char script[256], map[64];
    const char *const argv[] = { "node", "--perf-basic-prof", script, "flamedBurns", NULL };
    struct tally t = { .want = "flamedBurns" };
    struct stacks s;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), status;
    posix_spawn_file_actions_t actions;
    pid_t pid;

    snprintf(script, sizeof(script), "%s/../jvm/native/spin.js", FLAMED_TEST_DATA);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, null, 1);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0) {
        printf("skipped: no node\n");
        return;
    }
    process.id.host_pid = pid;
    snprintf(map, sizeof(map), "/tmp/perf-%d.map", pid);
    files.perf_map = map;
    sleep(1);
    wait_cpu(pid, pid, NSEC_PER_SEC);
    ck_assert(stacks_open(pid, &s));
    sample(&s, 20, 200, &t);
    stacks_close(&s);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    unlink(map);
    posix_spawn_file_actions_destroy(&actions);
    close(null);
    ck_assert_uint_gt(t.samples, 200);
    ck_assert_uint_ge(t.with_want * 100, t.samples * 90);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("symbolize_live");
    TCase *tc = tcase_create("symbolize_live");
    struct stacks probe;

    if (!stacks_open(0, &probe)) {
        fprintf(stderr, "skipped: no right to sample\n");
        return 77;
    }
    stacks_close(&probe);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, names_stacks_of_a_jvm, 0, ARRAY_SIZE(JDKS));
    tcase_add_test(tc, names_stacks_of_node);
    tcase_set_timeout(tc, 180);
    suite_add_tcase(s, tc);
    return suite_run_unforked(s); /* main() waits for the JVMs */
}
