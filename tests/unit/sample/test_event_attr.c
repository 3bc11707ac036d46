/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of an event by its name, compared with perf(1), and with sysfs for PMUs. */
#include "suite.h"

#include "sample/sampler_events.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

static int describe(const char *text, struct sampler_event *ret, struct error *err)
{
    _cleanup_close_ int fd = open(FLAMED_TEST_DATA "/pmu", O_PATH | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    *err = ERROR_NULL;
    return sampler_describe(EVENT_KINDS_ALL, span_of(text), fd, ret, err);
}

/* ---- as perf says ---- */

/* Returns the value of "  NAME   VALUE" in the first attributes that perf prints. 0: perf leaves it
 * out. */
static uint64_t printed(const char *output, const char *name)
{
    const char *line = strstr(output, "perf_event_attr:"), *end = line ? strstr(line, "---") : NULL;
    size_t n = strlen(name);

    for (; line && (!end || line < end); line = strchr(line, '\n')) {
        line += strspn(line, "\n ");
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            return strtoull(line + n, NULL, 0);
    }
    return 0;
}

static const char *const AS_PERF[] = {
    "cycles",
    "cycles:u",
    "instructions:k",
    "cache-misses",
    "branch-misses:u",
    "ref-cycles",
    "page-faults:u",
    "context-switches",
    "r01c2",
    "rffff:u",
    "L1-dcache-loads",
    "L1-dcache-load-misses",
    "L1-dcache-stores",
    "L1-dcache-prefetches",
    "L1-dcache-prefetch-misses",
    "L1-icache-loads",
    "L1-icache-load-misses",
    "LLC-loads",
    "LLC-load-misses",
    "LLC-stores",
    "LLC-store-misses:k",
    "LLC-prefetches",
    "LLC-prefetch-misses",
    "dTLB-loads",
    "dTLB-load-misses",
    "dTLB-stores",
    "dTLB-store-misses",
    "dTLB-prefetches",
    "dTLB-prefetch-misses",
    "iTLB-loads",
    "iTLB-load-misses:u",
    "branch-loads",
    "branch-load-misses",
    "node-loads",
    "node-load-misses",
    "node-stores",
    "node-store-misses",
    "node-prefetches",
    "node-prefetch-misses",
    "mem:0x7f0000001000",
    "mem:0x7f0000001008/8:w",
    "mem:0x7f0000001001:x",
};

/* Writes the attributes that perf prints; "" without perf. */
static void perf_says(const char *event, char *ret, size_t size)
{
    int pipe_fds[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t child;

    ck_assert_int_eq(pipe(pipe_fds), 0);
    child = fork();
    if (child == 0) {
        dup2(pipe_fds[1], 2);
        execlp("perf", "perf", "stat", "-vv", "-e", event, "true", NULL);
        _exit(1);
    }
    close(pipe_fds[1]);
    while (n < size - 1 && (got = read(pipe_fds[0], ret + n, size - 1 - n)) > 0)
        n += (size_t)got;
    ret[n] = '\0';
    close(pipe_fds[0]);
    waitpid(child, &status, 0);
}

START_TEST(asks_as_perf_does)
{
    char output[8192];
    struct sampler_event e;
    struct error err;

    perf_says(AS_PERF[_i], output, sizeof(output));
    if (!strstr(output, "perf_event_attr:"))
        return; /* no perf here, or perf does not know the name */
    ck_assert_msg(describe(AS_PERF[_i], &e, &err) == 0, "%s: %s", AS_PERF[_i], err.msg);
    ck_assert_msg(printed(output, "type") == e.attr.type, "%s: type %u\n%s", AS_PERF[_i],
                  e.attr.type, output);
    ck_assert_msg(printed(output, "config") == e.attr.config, "%s: config 0x%llx\n%s", AS_PERF[_i],
                  e.attr.config, output);
    ck_assert_msg(printed(output, "bp_type") == e.attr.bp_type, "%s: %s", AS_PERF[_i], output);
    if (e.attr.type == PERF_TYPE_BREAKPOINT) {
        ck_assert_msg(printed(output, "{ bp_addr, config1 }") == e.attr.bp_addr, "%s", output);
        ck_assert_msg(printed(output, "{ bp_len, config2 }") == e.attr.bp_len, "%s", output);
    }
    ck_assert_uint_eq(printed(output, "exclude_user"), e.attr.exclude_user);
    ck_assert_uint_eq(printed(output, "exclude_kernel"), e.attr.exclude_kernel);
    ck_assert_uint_eq(printed(output, "exclude_hv"), e.attr.exclude_hv);
}
END_TEST

/* ---- by sysfs ---- */

static const struct {
    const char *text;
    int r;
    uint64_t config, config1, config2;
} PMUS[] = {
    { "cpu/event=0x3c/", 0, 0x3c, 0, 0 },
    { "cpu/event=0x3c,umask=1/", 0, 0x13c, 0, 0 },
    { "cpu/event=0x1c2,umask=0xff,edge/", 0, 0x10004ffc2, 0, 0 },
    { "cpu/event=1,event=2/", 0, 2, 0, 0 },
    { "cpu/cmask=255,edge=0/u", 0, 0xff000000, 0, 0 },
    { "cpu/offcore_rsp=0xffffffffffffffff/", 0, 0, UINT64_MAX, 0 },
    { "cpu/ldlat=3,event=0xcd/", 0, 0xcd, 0, 0x30 },
    { "cpu/config=0x1234,config1=5,config2=6/", 0, 0x1234, 5, 6 },
    { "cpu/cache-misses/", 0, 0x964, 0, 0 },
    { "cpu/cache-misses,cmask=2/", 0, 0x2000964, 0, 0 },
    { "cpu/starts/", 0, 0x10400c0, 0, 0 },
    { "cpu/cache-misses=1/", -ENOENT, 0, 0, 0 },
    { "cpu/event=0x1000/", -EINVAL, 0, 0, 0 },
    { "cpu/edge=2/", -EINVAL, 0, 0, 0 },
    { "cpu/nothing=1/", -ENOENT, 0, 0, 0 },
    { "cpu/nothing/", -ENOENT, 0, 0, 0 },
    { "cpu/strange=1/", -EBADMSG, 0, 0, 0 },
    { "cpu/beyond=1/", -EBADMSG, 0, 0, 0 },
    { "cpu/loop/", -EBADMSG, 0, 0, 0 },
    { "cpu/asks/", -EBADMSG, 0, 0, 0 },
    { "gpu/event=1/", -ENOENT, 0, 0, 0 },
    { "uncore_imc_0/event=1/", -EOPNOTSUPP, 0, 0, 0 },
    { "cpu_atom/event=1/", 0, 1, 0, 0 },
    /* Its numbers are addresses. */
    { "uprobe/config1=4096,config2=16/", -EOPNOTSUPP, 0, 0, 0 },
    { "breakpoint/config1=4096/", -EOPNOTSUPP, 0, 0, 0 },
};

START_TEST(sets_the_bits_of_a_pmu)
{
    struct sampler_event e;
    struct error err;
    int r = describe(PMUS[_i].text, &e, &err);

    ck_assert_msg(r == PMUS[_i].r, "%s: %d %s", PMUS[_i].text, r, err.msg);
    if (r < 0) {
        ck_assert_int_ne(err.msg[0], '\0');
        return;
    }
    ck_assert(e.attr.type == 4 || e.attr.type == 10);
    ck_assert_msg(e.attr.config == PMUS[_i].config, "%s: 0x%llx", PMUS[_i].text, e.attr.config);
    ck_assert_uint_eq(e.attr.config1, PMUS[_i].config1);
    ck_assert_uint_eq(e.attr.config2, PMUS[_i].config2);
    ck_assert(!e.picks);
}
END_TEST

/* A sentence names the existing PMUs. */
START_TEST(names_the_pmus_there_are)
{
    struct sampler_event e;
    struct error err;

    ck_assert_int_eq(describe("gpu/event=1/", &e, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.msg, "no PMU 'gpu'"));
    ck_assert_ptr_nonnull(strstr(err.msg, "uncore_imc_0"));
    ck_assert_int_ne(err.remedy[0], '\0');
}
END_TEST

int main(void)
{
    Suite *s = suite_create("event_attr");
    TCase *tc = tcase_create("attr");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, asks_as_perf_does, 0, ARRAY_SIZE(AS_PERF));
    tcase_add_loop_test(tc, sets_the_bits_of_a_pmu, 0, ARRAY_SIZE(PMUS));
    tcase_add_test(tc, names_the_pmus_there_are);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
