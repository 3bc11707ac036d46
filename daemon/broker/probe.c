/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out what the machine lets the broker do. Tries each feature, and explains a missing feature
 * by a sentence.
 */
#include "base/cleanup.h"
#include "base/log.h"
#include "broker/server.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Wait of the first request; well below the 10 s that flamed waits for an answer. */
#define LOADED_SOON_NS (3 * NSEC_PER_SEC)

/* Reads the number in a file of one line. Returns @fallback if there is none. */
static int32_t read_number(const char *path, int32_t fallback)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[32];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    struct span s = { text, n > 0 ? (size_t)n : 0 };
    bool negative = span_take_char(&s, '-');
    uint64_t v;

    if (!span_take_dec(&s, &v) || v > INT32_MAX)
        return fallback;
    return negative ? -(int32_t)v : (int32_t)v;
}

static uint64_t capabilities(void)
{
    uint64_t set = 0;

    for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++) {
        if (capng_have_capability(CAPNG_PERMITTED, cap))
            set |= UINT64_C(1) << cap;
    }
    return set;
}

static uint32_t kernel_version(void)
{
    struct utsname u;
    struct span s;
    uint64_t a = 0, b = 0, c = 0;

    if (uname(&u) < 0)
        return 0;
    s = span_of(u.release);
    if (span_take_dec(&s, &a) && span_take_char(&s, '.') && span_take_dec(&s, &b) &&
        span_take_char(&s, '.'))
        span_take_dec(&s, &c);
    return (uint32_t)(MIN(a, 255u) << 16 | MIN(b, 255u) << 8 | MIN(c, 255u));
}

/* Returns true if the kernel shows addresses to us: the first line's is not zero. */
static bool kallsyms_work(const struct server *s)
{
    _cleanup_close_ int fd = server_open_kallsyms(s);
    char text[17];
    ssize_t n = fd < 0 ? -1 : read(fd, text, 16);
    struct span first = { text, n > 0 ? (size_t)n : 0 };
    uint64_t address = 0;

    return span_take_hex(&first, &address) && address != 0;
}

/* Enters a namespace that is ours already, which changes nothing. A kernel without pidfds in
 * setns(2) fails with EINVAL; an attach reports any other error again. */
void server_probe(struct server *s)
{
    _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS)
        log_warn("the kernel has no openat2(): flamed has no limits of control groups, names of "
                 "pods, counters of JVMs, perf maps or debug files; run Linux 5.6 or later");
    s->setns_by_pidfd = pidfd >= 0 && (setns(pidfd, CLONE_NEWUTS) == 0 || errno != EINVAL);
}

static int count_cpu(int cpu, void *cookie)
{
    (void)cpu;
    (*(uint32_t *)cookie)++;
    return 0;
}

/* Joins the sentence and its remedy. Longer text is cut and ends in "...". */
static void problem(char *ret, size_t size, const struct error *err)
{
    int n = snprintf(ret, size, "%s%s%s", err->msg, err->remedy[0] ? "; " : "", err->remedy);

    if (n >= (int)size)
        memcpy(ret + size - 4, "...", 4);
}

static int try_cpu(int cpu, void *cookie)
{
    int fd = sideband_open(cpu);

    *(int *)cookie = fd;
    return fd == -ENODEV ? 0 : 1; /* one CPU is enough */
}

/* The first request waits LOADED_SOON_NS: on most machines the programs are loaded by then. */
static void tell_sampler(struct server *s, struct broker_facts *ret)
{
    bool first = s->sampling.state == SAMPLER_UNASKED, known = s->sampling.state == SAMPLER_REFUSED;
    struct error err = ERROR_NULL;
    const struct error *why;
    int r = server_sampler(s, first ? LOADED_SOON_NS : 0, &err);

    why = r == 0 ? sampler_without_bpf(s->sampling.sampler) : &err;
    ret->bpf_loaded = !why;
    ret->perf_home = r == 0 && why;
    ret->bpf_loading = s->sampling.state == SAMPLER_LOADING || s->sampling.again.at_ns;
    if (!why)
        return;
    problem(ret->bpf_problem, sizeof(ret->bpf_problem), why);
    if (s->sampling.state == SAMPLER_REFUSED && !known)
        log_warn("no sampling: %s", ret->bpf_problem);
}

/*
 * facts. Safe: numbers about the kernel and the broker itself. Loads the BPF programs, as any
 * sampling request does.
 */
int request_facts(struct server *s, const struct no_fields *q, struct reply *rep)
{
    struct error err = ERROR_NULL;
    int fd = -ENODEV;

    (void)q;
    rep->body.facts = (struct broker_facts){
        .capabilities = capabilities(),
        .kernel_version = kernel_version(),
        .perf_event_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", 2),
        .kptr_restrict = read_number("/proc/sys/kernel/kptr_restrict", 0),
        .pid = getpid(),
        .perf_event_max_stack =
            (uint32_t)MAX(read_number("/proc/sys/kernel/perf_event_max_stack", 127), 0),
        .btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0,
        .kallsyms = kallsyms_work(s),
        .pid_namespace_level = s->initial_pid_ns ? 0 : 1,
    };
    cpus_each(count_cpu, &rep->body.facts.cpus);
    cpus_each(try_cpu, &fd);
    rep->body.facts.sideband = fd >= 0;
    if (fd < 0) {
        sideband_problem(fd, &err);
        problem(rep->body.facts.sideband_problem, sizeof(rep->body.facts.sideband_problem), &err);
    }
    close_fd(fd);
    err = ERROR_NULL;
    tell_sampler(s, &rep->body.facts);
    return 0;
}
