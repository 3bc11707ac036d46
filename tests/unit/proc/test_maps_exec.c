/* SPDX-License-Identifier: Apache-2.0 */
/* proc/maps_exec.c: executable mappings only, by ioctl or from the text. Both ways give the
 * same. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/procmap.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct maps_limits AMPLE = { .entries = 4096,
                                          .path_bytes = (size_t)1 << 20,
                                          .ns = 10 * NSEC_PER_SEC };
static const struct proc_id SELF = { .host_pid = 1 };

static atomic_int no_memory_in = -1; /* further arrays that get memory; < 0: all do */

void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
    if (no_memory_in == 0)
        return NULL;
    no_memory_in -= no_memory_in > 0;
    return __real_reallocarray(p, n, size);
}

/* Returns a file with the text of this process's maps. */
static int maps_text(void)
{
    char bytes[4096];
    int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), to = memfd_create("maps", 0);
    ssize_t n;

    while ((n = read(from, bytes, sizeof(bytes))) > 0)
        ck_assert_int_eq(write(to, bytes, (size_t)n), n);
    close(from);
    ck_assert_int_eq(lseek(to, 0, SEEK_SET), 0);
    return to;
}

static struct maps read_exec(int fd, const struct maps_limits *limits)
{
    struct maps m = { 0 };

    ck_assert_int_eq(maps_read_exec(&SELF, fd, limits, &m), 0);
    return m;
}

static bool can_ask(void)
{
    _cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    struct procmap name;
    struct mapping m;

    return procmap_query(fd, 0, PROCMAP_OR_NEXT, &name, &m) != -ENOTTY;
}

/* The text has one more mapping, the kernel's [vsyscall]. */
START_TEST(both_ways_tell_the_same)
{
    struct maps text = read_exec(maps_text(), &AMPLE),
                asked = read_exec(open("/proc/self/maps", O_RDONLY | O_CLOEXEC), &AMPLE);
    size_t i = 0;

    ck_assert_uint_gt(asked.count, 2);
    ck_assert(!text.truncated && !asked.truncated);
    for (size_t j = 0; j < text.count; j++) {
        const struct mapping *t = &text.entries[j], *a = &asked.entries[i];

        ck_assert(t->exec);
        if (span_eq_str(t->path, "[vsyscall]"))
            continue;
        ck_assert_uint_lt(i, asked.count);
        ck_assert_uint_eq(t->start, a->start);
        ck_assert_uint_eq(t->end, a->end);
        ck_assert_uint_eq(t->offset, a->offset);
        ck_assert_uint_eq(t->inode, a->inode);
        ck_assert_uint_eq(t->dev_major, a->dev_major);
        ck_assert_uint_eq(t->dev_minor, a->dev_minor);
        ck_assert(t->read == a->read && t->write == a->write && t->exec == a->exec);
        ck_assert(span_eq(t->path, a->path));
        i++;
    }
    ck_assert_uint_eq(i, asked.count);
    ck_assert_ptr_nonnull(maps_find(&asked, (uintptr_t)maps_read_exec));
    maps_deinit(&text);
    maps_deinit(&asked);
}
END_TEST

/* All mappings, also those that are not executable, in both ways. */
START_TEST(every_one_is_told)
{
    struct maps_limits every = AMPLE;

    every.every = true;
    for (int asked = 0; asked < 2; asked++) {
        struct maps m =
            read_exec(asked ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : maps_text(), &every);
        const struct mapping *stack = maps_find(&m, (uintptr_t)&every);

        ck_assert(!m.truncated);
        ck_assert_ptr_nonnull(stack);
        ck_assert(stack->write && !stack->exec);
        ck_assert_ptr_nonnull(maps_find(&m, (uintptr_t)maps_read_exec));
        maps_deinit(&m);
    }
}
END_TEST

START_TEST(limits_hold)
{
    static const struct maps_limits FEW = { .entries = 2,
                                            .path_bytes = (size_t)1 << 20,
                                            .ns = 10 * NSEC_PER_SEC },
                                    SHORT = { .entries = 4096,
                                              .path_bytes = 1,
                                              .ns = 10 * NSEC_PER_SEC };

    for (int asked = 0; asked < 2; asked++) {
        struct maps m =
            read_exec(asked ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : maps_text(), &FEW);

        ck_assert_uint_eq(m.count, 2);
        ck_assert(m.truncated);
        maps_deinit(&m);
        m = read_exec(asked ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : maps_text(), &SHORT);
        ck_assert_uint_eq(m.count, 0);
        ck_assert(m.truncated);
        maps_deinit(&m);
    }
}
END_TEST

/* At the limit of entries, vital and met mappings are kept. Each met mapping leaves one address, so
 * that the next ones have room. */
START_TEST(what_matters_most_is_kept)
{
    enum { COUNT = 200, ROOM = 40 };
    struct maps_met *met = NULL;
    struct maps_limits limits = { .entries = ROOM, .path_bytes = 1 << 16, .ns = 10 * NSEC_PER_SEC };
    int fd = memfd_create("maps", 0);
    struct maps m;

    for (unsigned i = 0; i < COUNT; i++) {
        dprintf(fd, "%x000-%x000 r-xp 00000000 fd:01 %u %s%u.so\n", 0x1000 + i * 16,
                0x1008 + i * 16, i + 1, i == COUNT - 1 ? "/x/libjvm.so.old" : "/x/lib", i);
    }
    ck_assert(maps_meet(&met, 0x1000000 + 150 * 0x10000 + 0x123));
    ck_assert(maps_meet(&met, 0x1000000 + 150 * 0x10000 + 0x456));
    ck_assert(!maps_meet(&met, 0x1000000 + 150 * 0x10000 + 0x456));
    ck_assert(maps_meet(&met, 0x999));
    limits.met = met;
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    m = read_exec(fd, &limits);
    ck_assert_uint_eq(m.count, ROOM - ROOM / 4 + 2);
    ck_assert_uint_eq(m.left_out, COUNT - m.count);
    ck_assert(m.truncated && !m.late);
    ck_assert_ptr_nonnull(maps_find(&m, 0x1000000));
    ck_assert_ptr_nonnull(maps_find(&m, 0x1000000 + 150 * 0x10000));
    ck_assert_ptr_nonnull(maps_find(&m, 0x1000000 + (COUNT - 1) * 0x10000));
    ck_assert_ptr_null(maps_find(&m, 0x1000000 + 149 * 0x10000));
    ck_assert_uint_eq(met->count, 1);
    ck_assert_uint_eq(met->at[0], 0x1000000 + 150 * 0x10000);
    maps_deinit(&m);
    free(met);
}
END_TEST

/* If time runs out, the kernel is asked for the met mappings. */
START_TEST(what_was_met_is_asked_for)
{
    struct maps_limits none = { .entries = 4096, .path_bytes = (size_t)1 << 20, .ns = 0 };
    enum { MAPPINGS = 200 };
    uint8_t *p =
        mmap(NULL, (size_t)2 * MAPPINGS * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t high;
    struct maps m;

    ck_assert(p != MAP_FAILED);
    for (size_t i = 0; i < MAPPINGS; i++)
        ck_assert_int_eq(mprotect(p + 2 * i * 4096, 4096, PROT_READ | PROT_EXEC), 0);
    high = (uintptr_t)(p + 2 * (MAPPINGS - 1) * 4096) + 77;
    if (can_ask()) {
        m = read_exec(open("/proc/self/maps", O_RDONLY | O_CLOEXEC), &none);
        ck_assert_ptr_null(maps_find(&m, high));
        maps_deinit(&m);
        ck_assert(maps_meet(&none.met, high));
        m = read_exec(open("/proc/self/maps", O_RDONLY | O_CLOEXEC), &none);
        ck_assert_ptr_nonnull(maps_find(&m, high));
        maps_deinit(&m);
        free(none.met);
    }
    munmap(p, (size_t)2 * MAPPINGS * 4096);
}
END_TEST

/* No time at all: entries read between two readings of the clock are kept. */
START_TEST(time_is_a_limit)
{
    static const struct maps_limits NONE = { .entries = 4096,
                                             .path_bytes = (size_t)1 << 20,
                                             .ns = 0 };
    enum { MAPPINGS = 200 };
    uint8_t *p =
        mmap(NULL, (size_t)2 * MAPPINGS * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct maps m;

    ck_assert(p != MAP_FAILED);
    for (size_t i = 0; i < MAPPINGS; i++)
        ck_assert_int_eq(mprotect(p + 2 * i * 4096, 4096, PROT_READ | PROT_EXEC), 0);
    m = read_exec(open("/proc/self/maps", O_RDONLY | O_CLOEXEC), &NONE);
    ck_assert(m.truncated);
    ck_assert_uint_lt(m.count, MAPPINGS);
    maps_deinit(&m);
    munmap(p, (size_t)2 * MAPPINGS * 4096);
}
END_TEST

/* A file comes with its name, deleted or not, and the requested mapping is found. */
START_TEST(one_is_asked_for)
{
    char path[] = "/tmp/flamed-test-XXXXXX";
    int fd = mkstemp(path), maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    struct procmap name;
    struct mapping m;
    void *p;

    if (!can_ask()) {
        close(fd);
        close(maps);
        unlink(path);
        return;
    }
    ck_assert_int_eq(ftruncate(fd, 8192), 0);
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
    ck_assert_ptr_ne(p, MAP_FAILED);
    ck_assert_int_eq(procmap_query(maps, (uintptr_t)p + 5, 0, &name, &m), 0);
    ck_assert_uint_eq(m.start, (uintptr_t)p);
    ck_assert_uint_eq(m.offset, 4096);
    ck_assert(span_eq_str(m.path, path));
    ck_assert(!m.deleted);
    ck_assert_int_eq(procmap_query(maps, (uintptr_t)p, PROCMAP_EXEC, &name, &m), -ENOENT);
    unlink(path);
    ck_assert_int_eq(procmap_query(maps, (uintptr_t)p, PROCMAP_FILE, &name, &m), 0);
    ck_assert(span_eq_str(m.path, path));
    ck_assert(m.deleted);
    munmap(p, 4096);
    ck_assert_int_eq(procmap_query(fd, 0, PROCMAP_OR_NEXT, &name, &m), -ENOTTY);
    close(fd);
    close(maps);
}
END_TEST

/* The text has more mappings than the first array has room for. Those without room are left out. */
START_TEST(no_memory_leaves_mappings_out)
{
    static char text[100 * 64];
    int fd = memfd_create("maps", 0);
    struct maps m;
    size_t n = 0;

    for (unsigned i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%x000-%x000 r-xp 0 00:00 0 /libjvm.so\n",
                              0x100 + 2 * i, 0x101 + 2 * i);
    ck_assert_int_eq(write(fd, text, n), (ssize_t)n);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    no_memory_in = _i;
    m = read_exec(fd, &AMPLE);
    no_memory_in = -1;
    ck_assert(m.truncated);
    ck_assert_uint_eq(m.count, _i ? 64 : 0);
    ck_assert_uint_eq(m.left_out, 100 - m.count);
    maps_deinit(&m);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("maps_exec");

    tcase_add_test(tc, both_ways_tell_the_same);
    tcase_add_test(tc, limits_hold);
    tcase_add_test(tc, every_one_is_told);
    tcase_add_test(tc, time_is_a_limit);
    tcase_add_test(tc, one_is_asked_for);
    tcase_add_test(tc, what_matters_most_is_kept);
    tcase_add_test(tc, what_was_met_is_asked_for);
    tcase_add_loop_test(tc, no_memory_leaves_mappings_out, 0, 2);
    return suite_run_case("maps_exec", tc);
}
