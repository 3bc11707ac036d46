/* SPDX-License-Identifier: Apache-2.0 */
/* proc/stall_readers.c: readings that hang. A pipe without a writer stands for such a file. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/turns.h"
#include "proc/stall_readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUSY_OTHERS 8
#define BUSY_READINGS 25
#define BUSY_READING_NS (200 * NSEC_PER_MSEC) /* in all, more than an owner's budget */
#define BUSY_BEFORE 3                         /* readings; they leave less than BUSY_BOUNDED take */
#define BUSY_BOUNDED 10
#define BUSY_READINGS_MAX 100
#define ENDLESS_NS (4 * READERS_CPU_NS)
#define LATE_NS READERS_CPU_NS /* CPU time of a reading after it was left */

static int proc_fd;
static atomic_int dropped;

struct pipe_reading {
    struct reading base; /* must be first */
    int fd;
    char byte;
};

static int run_pipe(struct reading *r)
{
    struct pipe_reading *p = (struct pipe_reading *)r;

    return (int)read(p->fd, &p->byte, 1);
}

static void drop_pipe(struct reading *r)
{
    dropped++;
    free(r);
}

/* Each process is an owner of its own, as processes of root's are. None of them exists. */
uint64_t __wrap_proc_owner_now(int fd, const struct proc_id *id);
uint64_t __wrap_proc_owner_now(int fd, const struct proc_id *id)
{
    (void)fd;
    return (uint64_t)id->host_pid;
}

/* Reads a byte of @fd for process @pid. */
static int read_byte(int pid, int fd, struct reading **ret)
{
    struct proc_id id = { .host_pid = INT32_MAX - pid, .start_ticks = 1 };
    struct pipe_reading *p = calloc(1, sizeof(*p));

    ck_assert_ptr_nonnull(p);
    *p = (struct pipe_reading){ .base = { .run = run_pipe, .drop = drop_pipe, .jvm = pid == 1 },
                                .fd = fd };
    *ret = &p->base;
    return readers_run(&id, ret);
}

/* Does the same, but the caller frees the reading if it is abandoned. */
static int read_and_drop(int pid, int fd, bool *ret_left)
{
    struct reading *r = NULL;
    int result = read_byte(pid, fd, &r);

    *ret_left = !r;
    free(r);
    return result;
}

static struct readers_stats stats(void)
{
    struct readers_stats s;

    readers_stats(&s);
    return s;
}

static void wait_for_none(void)
{
    uint64_t until_ns = clock_monotonic_ns() + 10 * NSEC_PER_SEC;

    while (stats().held && clock_monotonic_ns() < until_ns)
        usleep(1000);
    ck_assert_uint_eq(stats().held, 0);
}

static void setup(void)
{
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    readers_use(proc_fd);
    dropped = 0;
}

static void teardown(void)
{
    close(proc_fd);
}

START_TEST(what_is_answered_is_told)
{
    uint64_t before = stats().left; /* by earlier tests of this process */
    bool left;
    int fds[2];

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    ck_assert_int_eq(read_and_drop(1, fds[0], &left), 1);
    ck_assert(!left);
    ck_assert_int_eq(read_and_drop(2, -1, &left), -1);
    ck_assert_uint_eq(stats().left, before);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* While a reading hangs, its owner is refused at once. Other owners are served. */
START_TEST(what_is_not_answered_holds_nobody_else)
{
    struct proc_id held = { .host_pid = INT32_MAX - 1, .start_ticks = 1 },
                   other = { .host_pid = INT32_MAX - 2, .start_ticks = 1 };
    uint64_t began_ns;
    int fds[2], ready[2];
    bool left;

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    ck_assert_int_eq(write(ready[1], "xyz", 3), 3);
    ck_assert_int_eq(read_and_drop(1, fds[0], &left), -ETIMEDOUT);
    ck_assert(left);
    ck_assert_uint_eq(stats().held, 1);
    ck_assert_int_eq(stats().who[0].id.host_pid, held.host_pid);
    ck_assert(stats().who[0].jvm);
    ck_assert(readers_wait_for(&held));
    ck_assert(!readers_wait_for(&other));
    began_ns = clock_monotonic_ns();
    ck_assert_int_eq(read_and_drop(1, ready[0], &left), -ETIMEDOUT);
    ck_assert(!left);
    ck_assert_uint_lt(clock_monotonic_ns() - began_ns, READERS_WAIT_NS);
    ck_assert_int_eq(read_and_drop(2, ready[0], &left), 1);
    ck_assert_int_eq(dropped, 0);
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    wait_for_none();
    ck_assert_int_eq(dropped, 1);
    ck_assert_int_eq(read_and_drop(1, ready[0], &left), 1);
    for (int i = 0; i < 2; i++) {
        close(fds[i]);
        close(ready[i]);
    }
}
END_TEST

/* An owner with slow answers, in time or not, uses up its budget. */
START_TEST(slow_ones_are_passed_in_the_end)
{
    int waited = 0, fds[2];
    bool left;

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    for (int i = 0; i < 100; i++) {
        waited += read_and_drop(3, fds[0], &left) == -ETIMEDOUT && left;
        if (left) {
            ck_assert_int_eq(write(fds[1], "x", 1), 1);
            wait_for_none();
        }
    }
    ck_assert_int_gt(waited, 10);
    ck_assert_int_lt(waited, 50);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* Yields the processor again and again, as on a busy machine. */
static int run_without_a_turn(struct reading *r)
{
    uint64_t began_ns = clock_monotonic_ns();

    (void)r;
    while (clock_monotonic_ns() - began_ns < BUSY_READING_NS)
        sched_yield();
    return 1;
}

static void *spin(void *cookie)
{
    atomic_bool *stop = cookie;

    while (!*stop)
        ;
    return NULL;
}

/* Time in which other threads run does not count for the owner. All threads share one processor. */
START_TEST(a_busy_machine_uses_up_nothing)
{
    struct proc_id id = { .host_pid = INT32_MAX - 9, .start_ticks = 1 };
    pthread_t others[BUSY_OTHERS];
    atomic_bool stop = false;
    cpu_set_t all, one;

    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0); /* for new threads, too */
    for (size_t i = 0; i < BUSY_OTHERS; i++)
        ck_assert_int_eq(pthread_create(&others[i], NULL, spin, &stop), 0);
    for (int i = 0; i < BUSY_READINGS; i++) {
        struct reading base = { .run = run_without_a_turn }, *r = &base;

        ck_assert_msg(readers_run(&id, &r) == 1, "reading %d", i);
    }
    stop = true;
    for (size_t i = 0; i < BUSY_OTHERS; i++)
        pthread_join(others[i], NULL);
    sched_setaffinity(0, sizeof(all), &all);
}
END_TEST

static uint64_t cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static int run_on_a_processor(struct reading *r)
{
    uint64_t began_ns = cpu_ns();

    (void)r;
    while (cpu_ns() - began_ns < BUSY_READING_NS)
        ;
    return 1;
}

static bool works(const struct proc_id *id, bool bounded)
{
    struct reading base = { .run = run_on_a_processor, .asleep_only = bounded }, *r = &base;

    return readers_run(id, &r) == 1;
}

/* Has all threads of this process run before others. */
static void run_first(void)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *e;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        setpriority(PRIO_PROCESS, (id_t)strtoul(e->d_name, NULL, 10), -20);
    closedir(d);
}

/* CPU time that flamed bounds does not count for the owner, other CPU time does. The owner has
 * little left when bounded readings begin, and still has it afterwards. While a reader waits for a
 * processor, the budget grows. */
START_TEST(bounded_work_uses_up_nothing)
{
    struct proc_id id = { .host_pid = INT32_MAX - 11, .start_ticks = 1 };
    int more = 0;

    run_first();
    for (int i = 0; i < BUSY_BEFORE; i++)
        ck_assert_msg(works(&id, false), "reading %d", i);
    for (int i = 0; i < BUSY_BOUNDED; i++)
        ck_assert_msg(works(&id, true), "bounded reading %d", i);
    while (more < BUSY_READINGS_MAX && works(&id, false))
        more++;
    ck_assert_int_lt(more, BUSY_READINGS_MAX);
    ck_assert(works(&id, true)); /* it takes nothing of what is missing */
}
END_TEST

static atomic_bool computes;
static atomic_uint_least64_t computed_ns;

/* Computes until it is told to stop and was left for LATE_NS, or for ENDLESS_NS of CPU time. It
 * reads no page. */
static int run_endlessly(struct reading *r)
{
    uint64_t began_ns = cpu_ns(), left_ns = 0;

    (void)r;
    while ((computes || cpu_ns() - left_ns < LATE_NS) && cpu_ns() - began_ns < ENDLESS_NS)
        left_ns = readers_is_left() && left_ns ? left_ns : cpu_ns();
    computed_ns = cpu_ns() - began_ns;
    return 1;
}

/* Begins a reading that computes, once the owner has time left. Returns when it began. */
static uint64_t begin_endless(const struct proc_id *id)
{
    struct pipe_reading *p = calloc(1, sizeof(*p));
    struct reading *r = &p->base;
    uint64_t began_ns;

    ck_assert_ptr_nonnull(p);
    *p = (struct pipe_reading){ .base = { .run = run_endlessly, .drop = drop_pipe } };
    do {
        usleep(1000);
        began_ns = clock_monotonic_ns();
        ck_assert_int_eq(readers_run(id, &r), -ETIMEDOUT);
    } while (r);
    return began_ns;
}

/* A reading that computes is left after READERS_CPU_NS. Its owner pays for all of that time, and
 * for what the reading computes afterwards: it had little left, and has nothing before its share of
 * a later time has covered it. */
START_TEST(what_computes_for_long_is_left)
{
    struct proc_id id = { .host_pid = INT32_MAX - 12, .start_ticks = 1 },
                   other = { .host_pid = INT32_MAX - 13, .start_ticks = 1 };
    uint64_t began_ns;

    run_first();
    computes = true;
    while (works(&id, false))
        ;
    began_ns = begin_endless(&id);
    ck_assert_uint_eq(stats().held, 1);
    ck_assert(works(&other, true));
    computes = false;
    wait_for_none();
    ck_assert_int_eq(dropped, 1);
    ck_assert_uint_lt(computed_ns, ENDLESS_NS);
    while (!works(&id, false))
        usleep(1000);
    ck_assert_uint_gt(clock_monotonic_ns() - began_ns,
                      (READERS_CPU_NS + LATE_NS) * (READERS_WORK_SHARE - 1));
}
END_TEST

/* The kernel's struct sched_attr, since Linux 3.14. */
struct turns {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline, period;
};

static struct turns turns_now(void)
{
    struct turns t = { 0 };

    ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &t, sizeof(t), 0), 0);
    return t;
}

static int run_turns(struct reading *r)
{
    (void)r;
    return (int)turns_now().runtime_ns;
}

static void *read_in_short_turns(void *cookie)
{
    struct proc_id id = { .host_pid = INT32_MAX - 10, .start_ticks = 1 };
    struct reading base = { .run = run_turns }, *r = &base;
    struct turns before = turns_now(), after;

    (void)cookie;
    readers_use(proc_fd);
    after = turns_now();
    /* Before Linux 6.12 all turns have the same length, and the kernel reports none. */
    ck_assert_uint_eq(after.runtime_ns, before.runtime_ns ? TURNS_SHORT_NS : 0);
    ck_assert_int_eq(after.nice, before.nice);
    ck_assert_int_eq(readers_run(&id, &r), (int)after.runtime_ns);
    return NULL;
}

/* The thread that waits for readings, and the reader, get a processor soon on a busy machine. */
START_TEST(turns_are_short)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, read_in_short_turns, NULL), 0);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(so_many_can_be_left)
{
    int fds[2], ready[2];
    bool left;

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    ck_assert_int_eq(write(ready[1], "x", 1), 1);
    for (int i = 0; i < READERS_MAX; i++) {
        ck_assert_int_eq(read_and_drop(100 + i, fds[0], &left), -ETIMEDOUT);
        ck_assert(left);
    }
    ck_assert_uint_eq(stats().held, READERS_MAX);
    ck_assert_int_eq(read_and_drop(99, ready[0], &left), -ETIMEDOUT);
    ck_assert(!left);
    close(fds[1]); /* the end of file completes all readings */
    wait_for_none();
    ck_assert_int_eq(dropped, READERS_MAX);
    ck_assert_int_eq(read_and_drop(98, ready[0], &left), 1);
    close(fds[0]);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

START_TEST(memory_is_read)
{
    static const char text[] = "what stands here";
    struct proc_id self = { .host_pid = getpid(), .start_ticks = 1 };
    char got[sizeof(text)] = "";
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(readers_pread(&self, fd, (uintptr_t)text, got, sizeof(got)), sizeof(got));
    ck_assert_str_eq(got, text);
    ck_assert_int_eq(readers_pread(&self, fd, 0, got, sizeof(got)), -EIO);
    close(fd);
}
END_TEST

/* A reading of several pages. A pipe holds up each of them. */
struct pages_reading {
    struct reading base; /* must be first */
    int fd, pages;
};

static atomic_int last_page;

static int run_pages(struct reading *r)
{
    struct pages_reading *p = (struct pages_reading *)r;
    struct proc_id id = { .host_pid = getpid(), .start_ticks = 1 };
    int got = 0, mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    char byte;

    for (int i = 0; i < p->pages; i++) {
        if (read(p->fd, &byte, 1) != 1)
            break;
        last_page = (int)readers_pread(&id, mem, (uintptr_t)&last_page, &byte, 1);
        got += last_page == 1;
    }
    close(mem);
    return got;
}

static int read_pages(int fd, int pages, bool *ret_left)
{
    struct proc_id id = { .host_pid = INT32_MAX - 9, .start_ticks = 1 };
    struct pages_reading *p = calloc(1, sizeof(*p));
    struct reading *r = &p->base;
    int result;

    ck_assert_ptr_nonnull(p);
    *p = (struct pages_reading){ .base = { .run = run_pages, .drop = drop_pipe, .jvm = true },
                                 .fd = fd,
                                 .pages = pages };
    result = readers_run(&id, &r);
    *ret_left = !r;
    free(r);
    return result;
}

static int slow_fd;

static void *write_slowly(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        usleep((useconds_t)(READERS_SLOW_NS / 6 / NSEC_PER_USEC));
        ck_assert_int_eq(write(slow_fd, "x", 1), 1);
    }
    return NULL;
}

/* Page after page arrives. A reading may take longer in all than one page may. */
START_TEST(what_goes_on_is_waited_for)
{
    pthread_t writer;
    int fds[2];
    bool left;

    ck_assert_uint_gt(READERS_SLOW_NS / 6 * 4, READERS_WAIT_NS);
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    slow_fd = fds[1];
    ck_assert_int_eq(pthread_create(&writer, NULL, write_slowly, NULL), 0);
    ck_assert_int_eq(read_pages(fds[0], 4, &left), 4);
    ck_assert(!left);
    pthread_join(writer, NULL);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* The file of an abandoned reading may be closed, and its number reused. */
START_TEST(what_was_left_reads_no_further)
{
    int fds[2];
    bool left;

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    last_page = 0;
    ck_assert_int_eq(read_pages(fds[0], 1, &left), -ETIMEDOUT);
    ck_assert(left);
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    wait_for_none();
    ck_assert_int_eq(last_page, -ETIMEDOUT);
    ck_assert_int_eq(dropped, 1);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* Readings of maps: each owner gets a share of the time. */
START_TEST(an_owner_has_its_share_of_looks)
{
    struct proc_id many = { .host_pid = INT32_MAX - 7, .start_ticks = 1 },
                   other = { .host_pid = INT32_MAX - 8, .start_ticks = 1 };

    ck_assert(readers_afford(&many));
    readers_spend(&many, 2 * READERS_LOOKS_AT_ONCE_NS);
    ck_assert(!readers_afford(&many));
    ck_assert(readers_afford(&other));
    ck_assert_uint_eq(stats().looks_put_off, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("readers");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_busy_machine_uses_up_nothing); /* first: its reader starts here */
    tcase_add_test(tc, bounded_work_uses_up_nothing);
    tcase_add_test(tc, what_computes_for_long_is_left);
    tcase_add_test(tc, what_is_answered_is_told);
    tcase_add_test(tc, what_is_not_answered_holds_nobody_else);
    tcase_add_test(tc, slow_ones_are_passed_in_the_end);
    tcase_add_test(tc, turns_are_short);
    tcase_add_test(tc, so_many_can_be_left);
    tcase_add_test(tc, memory_is_read);
    tcase_add_test(tc, what_goes_on_is_waited_for);
    tcase_add_test(tc, what_was_left_reads_no_further);
    tcase_add_test(tc, an_owner_has_its_share_of_looks);
    return suite_run_case("readers", tc);
}
