/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on the running kernel: no probe is left, whenever their owner is killed. Needs root. */
#include "suite.h"

#include "sample/uprobe.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PLACES ((size_t)6)
#define PAGE ((size_t)4096)
#define NOP 0x90
#define IDLE_US 30000 /* until the kernel needs its full time for the first of several again */
#define WAIT_NS                                                                                    \
    (60 * NSEC_PER_SEC) /* for what takes the kernel a second: it ends, or never does              \
                         */

static struct error err;
static int code_fd;         /* a file of no-ops */
static const uint8_t *code; /* the mapping of that file */
static pid_t target;        /* a process with the same mapping */
static struct uprobe_place places[PLACES];

/* Forks a child that waits, and that ends with this process. */
static pid_t fork_sleeper(void)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return pid;
}

static void end(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static void setup(void)
{
    uint8_t page[PAGE];

    err = ERROR_NULL;
    memset(page, NOP, sizeof(page));
    code_fd = memfd_create("code", MFD_CLOEXEC);
    for (size_t i = 0; i < PLACES; i++) {
        ck_assert_int_eq(write(code_fd, page, sizeof(page)), sizeof(page));
        places[i] = (struct uprobe_place){ .offset = i * PAGE + 16 * i, .cookie = i + 1 };
    }
    code = mmap(NULL, PLACES * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, code_fd, 0);
    ck_assert_ptr_ne(code, MAP_FAILED);
    target = fork_sleeper();
}

static void teardown(void)
{
    end(target);
    munmap((void *)code, PLACES * PAGE);
    close_fd(code_fd);
}

/* Returns how many bytes of the target's code differ from the file. */
static size_t breakpoints(void)
{
    static uint8_t now[PLACES * PAGE];
    char path[32];
    _cleanup_close_ int fd = -1;
    size_t n = 0;

    snprintf(path, sizeof(path), "/proc/%d/mem", target);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, now, sizeof(now), (off_t)(uintptr_t)code), sizeof(now));
    for (size_t i = 0; i < sizeof(now); i++)
        n += now[i] != NOP;
    return n;
}

/* The kernel removes probes in the background. */
static bool all_gone(void)
{
    uint64_t until = clock_monotonic_ns() + WAIT_NS;

    while (breakpoints() > 0) {
        if (clock_monotonic_ns() > until)
            return false;
        usleep(1000);
    }
    return true;
}

static int load_program(const struct uprobe_way *way)
{
    static const struct bpf_insn NOTHING[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    LIBBPF_OPTS(bpf_prog_load_opts, opts);

    opts.expected_attach_type = way->multi ? UPROBE_MULTI : 0;
    return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "Dual BSD/GPL", NOTHING, 2, &opts);
}

static size_t pins(int pins_fd)
{
    DIR *dir = fdopendir(openat(pins_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct dirent *e;
    size_t n = 0;

    ck_assert_ptr_nonnull(dir);
    while ((e = readdir(dir)))
        n += strchr(e->d_name, '-') != NULL; /* the kernel has some of its own */
    closedir(dir);
    return n;
}

/* Finds how probes are put here, with pins in the test's own file system. As perf events if
 * @events. Returns false if this kernel has no other way. */
static bool find_way(bool events, struct uprobe_way *ret)
{
    int pins_fd = uprobe_pins_open();

    ck_assert_msg(pins_fd >= 0, "%s", strerror(-pins_fd));
    ck_assert_msg(uprobe_find_way(pins_fd, ret, &err) == 0, "%s", err.msg);
    if (events && !ret->multi) {
        close_fd(pins_fd);
        return false;
    }
    ret->multi = ret->multi && !events;
    return true;
}

static struct uprobes *attach(const struct uprobe_way *way, int program)
{
    struct uprobes *u = NULL;

    ck_assert_msg(uprobes_attach(way, program, target, code_fd, places, PLACES, &u, &err) == 0,
                  "%s", err.msg);
    return u;
}

/* Both ways, with pins and without. */
START_TEST(come_and_go)
{
    struct uprobe_way way;
    _cleanup_close_ int program = -1, pins_fd = -1;

    if (!find_way(_i & 1, &way))
        return;
    pins_fd = way.pins_fd;
    if (_i & 2)
        way.pins_fd = -1;
    program = load_program(&way);
    for (int round = 0; round < 2; round++) {
        struct uprobes *u = attach(&way, program), *other = attach(&way, program);

        ck_assert_uint_eq(breakpoints(), PLACES);
        ck_assert_uint_eq(pins(pins_fd), way.pins_fd < 0 ? 0 : 2 * PLACES);
        u = uprobes_detach(u);
        ck_assert_uint_eq(breakpoints(), PLACES); /* those of the other probes */
        ck_assert_uint_eq(pins(pins_fd), way.pins_fd < 0 ? 0 : PLACES);
        other = uprobes_detach(other);
        ck_assert_uint_eq(pins(pins_fd), 0);
        ck_assert(all_gone());
    }
}
END_TEST

/* If one probe cannot be put, the others are removed. */
START_TEST(all_or_none)
{
    struct uprobe_way way;
    _cleanup_close_ int program = -1, pins_fd = -1;
    struct uprobes *u = NULL;

    find_way(false, &way);
    pins_fd = way.pins_fd;
    program = load_program(&way);
    places[PLACES - 1].offset = 2 * PLACES * PAGE;
    ck_assert_int_lt(uprobes_attach(&way, program, target, code_fd, places, PLACES, &u, &err), 0);
    ck_assert_ptr_null(u);
    ck_assert_uint_eq(pins(pins_fd), 0);
    ck_assert(all_gone());
}
END_TEST

/* Forks a child that puts and removes probes, then waits to be killed. It signals on @ready before
 * it puts them, or before it removes them if @out. */
static pid_t fork_prober(bool events, bool out, int ready)
{
    struct uprobes *u = NULL;
    struct uprobe_way way;
    pid_t pid = fork();
    int program;

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!find_way(events, &way) || (program = load_program(&way)) < 0)
        _exit(1);
    if (out)
        u = attach(&way, program);
    usleep(IDLE_US);
    if (write(ready, "", 1) == 1)
        uprobes_detach(u ? u : attach(&way, program));
    for (;;)
        pause();
}

/* The kernel needs 0.1 s to remove a probe of a perf event, so these run less often. */
START_TEST(killed)
{
    bool events = _i;
    struct uprobe_way way;
    int kills = events ? 8 : 60;

    if (!find_way(events, &way))
        return;
    close_fd(way.pins_fd);
    for (int i = 0; i < kills; i++) {
        int ready[2];
        pid_t prober;
        char byte;

        ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
        prober = fork_prober(events, i & 1, ready[1]);
        close_fd(ready[1]);
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        close_fd(ready[0]);
        usleep((useconds_t)(i * 7919 % 10000)); /* at any time during that */
        end(prober);
        ck_assert_msg(all_gone(), "%zu breakpoints were left by kill %d", breakpoints(), i);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("uprobe");
    TCase *tc = tcase_create("probes");
    struct uprobe_way way;
    int pins_fd = geteuid() == 0 ? uprobe_pins_open() : -EPERM;
    bool can = pins_fd >= 0 && uprobe_find_way(/* pins_fd= */ -1, &way, &err) == 0;

    close_fd(pins_fd);
    if (!can) {
        fprintf(stderr, "needs root, and uprobes\n");
        return 77;
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 200);
    tcase_add_loop_test(tc, come_and_go, 0, 4);
    tcase_add_test(tc, all_or_none);
    tcase_add_loop_test(tc, killed, 0, 2);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
