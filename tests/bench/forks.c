/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long a fork and an exec of an unrelated process take while probes are put into a
 * process and removed again, in turn with the same without probes. During each change, the kernel
 * lets no process of the machine fork. Needs root. forks PROBES [SECONDS [PAUSE_MS [PROCESSES
 * [ROUNDS]]]] PAUSE_MS: between two rounds of probes, and how long each stays. PROCESSES: further
 * processes that map the file. The kernel takes the lock of each one's memory.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "sample/uprobe.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define NOP 0x90
#define PROBES_MAX 32
#define FORKS_MAX 200000

enum way { NO_PROBES, LINKS, EVENTS, WAYS };
static const char *const NAMES[WAYS] = { "no probes", "links", "perf events" };

/* The measurements of the forking process. */
struct times {
    uint64_t forks[FORKS_MAX], execs[FORKS_MAX]; /* ns */
    size_t count;
    bool end;
};

static struct times *of[WAYS]; /* shared with that process */
static struct uprobe_place places[PROBES_MAX];
static size_t place_count;
static int code_fd;
static void *code;
static pid_t target;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static pid_t fork_or_fail(void)
{
    pid_t pid = fork();

    if (pid < 0)
        fail("fork");
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Forks all the time until t->end. Maps no part of the file. */
static void measure(struct times *t)
{
    static char name[] = "true";
    static char *const ARGV[] = { name, NULL }, *const NOTHING[] = { NULL };

    munmap(code, place_count * PAGE);
    while (!__atomic_load_n(&t->end, __ATOMIC_RELAXED) && t->count < FORKS_MAX) {
        uint64_t began = clock_monotonic_ns(), forked;
        pid_t pid = fork_or_fail();

        if (pid == 0)
            _exit(0);
        forked = clock_monotonic_ns();
        waitpid(pid, NULL, 0);
        t->forks[t->count] = forked - began;
        began = clock_monotonic_ns();
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, ARGV, NOTHING) != 0)
            _exit(1);
        waitpid(pid, NULL, 0);
        t->execs[t->count++] = clock_monotonic_ns() - began;
        usleep(100); /* otherwise it would be the load itself */
    }
    _exit(0);
}

static int load_program(const struct uprobe_way *way)
{
    static const struct bpf_insn CODE[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    LIBBPF_OPTS(bpf_prog_load_opts, opts);

    opts.expected_attach_type = way->multi ? UPROBE_MULTI : 0;
    return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "Dual BSD/GPL", CODE, ARRAY_SIZE(CODE),
                         &opts);
}

/* Puts and removes all probes until @until_ns. Returns how often. */
static unsigned churn(const struct uprobe_way *way, int program, uint64_t until_ns,
                      unsigned pause_ms)
{
    struct error err = ERROR_NULL;
    unsigned n = 0;

    for (; clock_monotonic_ns() < until_ns; n++) {
        struct uprobes *u = NULL;

        if (uprobes_attach(way, program, target, code_fd, places, place_count, &u, &err) < 0) {
            fprintf(stderr, "%s\n", err.msg);
            exit(1);
        }
        usleep(pause_ms * 1000);
        uprobes_detach(u);
        usleep(pause_ms * 1000);
    }
    return n;
}

/* Measures for another @seconds with probes of @way. Returns how often they were put. */
static unsigned run(enum way kind, const struct uprobe_way *way, int program, unsigned seconds,
                    unsigned pause_ms)
{
    uint64_t until_ns = clock_monotonic_ns() + seconds * NSEC_PER_SEC;
    struct times *t = of[kind];
    unsigned n = 0;
    pid_t pid;

    t->end = false;
    pid = fork_or_fail();
    if (pid == 0)
        measure(t);
    if (kind == NO_PROBES)
        sleep(seconds);
    else
        n = churn(way, program, until_ns, pause_ms);
    __atomic_store_n(&t->end, true, __ATOMIC_RELAXED);
    waitpid(pid, NULL, 0);
    return n;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_times(const char *what, uint64_t *times, size_t count)
{
    if (count == 0)
        return;
    qsort(times, count, sizeof(*times), compare);
    printf("  %s: median %.0f us, 99 %% %.0f us, 99.9 %% %.0f us, most %.1f ms", what,
           (double)times[count / 2] / 1e3, (double)times[count * 99 / 100] / 1e3,
           (double)times[count * 999 / 1000] / 1e3, (double)times[count - 1] / 1e6);
}

/* Forks processes that map the file, and end with this one. */
static void fork_sleepers(unsigned count)
{
    while (count--) {
        if (fork_or_fail() == 0) {
            for (;;)
                pause();
        }
    }
}

static void make_code(void)
{
    uint8_t page[PAGE];

    memset(page, NOP, sizeof(page));
    code_fd = memfd_create("code", MFD_CLOEXEC);
    for (size_t i = 0; i < place_count; i++) {
        places[i] = (struct uprobe_place){ .offset = i * PAGE, .cookie = i + 1 };
        if (write(code_fd, page, sizeof(page)) != sizeof(page))
            fail("write");
    }
    code = mmap(NULL, place_count * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_fd, 0);
    if (code == MAP_FAILED)
        fail("mmap");
    for (size_t i = 0; i < place_count; i++) /* so that its children have the pages, too */
        (void)*(volatile uint8_t *)((uint8_t *)code + i * PAGE);
    target = fork_or_fail();
    if (target == 0) {
        for (;;)
            pause();
    }
}

int main(int argc, char **argv)
{
    unsigned numbers[] = { 1, 10, 50, 0, 3 }, put[WAYS] = { 0 };
    struct uprobe_way ways[WAYS];
    struct error err = ERROR_NULL;
    int programs[WAYS] = { -1, -1, -1 };

    for (int i = 1; i < argc && i <= (int)ARRAY_SIZE(numbers); i++)
        numbers[i - 1] = (unsigned)strtoul(argv[i], NULL, 10);
    place_count = numbers[0];
    if (place_count == 0 || place_count > PROBES_MAX ||
        uprobe_find_way(uprobe_pins_open(), &ways[LINKS], &err) < 0) {
        fprintf(stderr, "%s\n", err.msg[0] ? err.msg : "1 to 32 probes");
        return 1;
    }
    ways[EVENTS] = ways[LINKS];
    ways[EVENTS].multi = false;
    for (enum way i = LINKS; i < WAYS; i++)
        programs[i] = load_program(&ways[i]);
    for (enum way i = 0; i < WAYS; i++) {
        of[i] =
            mmap(NULL, sizeof(*of[i]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (of[i] == MAP_FAILED)
            fail("mmap");
    }
    make_code();
    fork_sleepers(numbers[3]);
    for (unsigned round = 0; round < numbers[4]; round++) {
        for (enum way i = 0; i < WAYS; i++) {
            if (i == LINKS && !ways[LINKS].multi)
                continue;
            put[i] += run(i, &ways[i], programs[i], numbers[1], numbers[2]);
        }
    }
    for (enum way i = 0; i < WAYS; i++) {
        printf("%s, put %u times:\n", NAMES[i], put[i]);
        print_times("fork", of[i]->forks, of[i]->count);
        print_times("exec", of[i]->execs, of[i]->count);
        printf("\n");
    }
    end(target);
    return 0;
}
