/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf events behind the samples: cpu-clock, one per online CPU, with a fixed period. A fixed
 * period and not a frequency: the kernel steers a frequency, and a sample then stands for an
 * unknown time.
 */
#include "sample/sampler_events.h"

#include "base/buf.h"
#include "sample/sampler.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAMPLER_PERIOD_MIN_NS (100 * NSEC_PER_USEC) /* 10,000 Hz */
#define SAMPLER_PERIOD_MAX_NS NSEC_PER_SEC

int sampler_parse_cpus(struct span text, uint32_t *ret_cpus)
{
    struct span range;
    int n = 0;

    text = span_trim(text);
    while (span_take_until(&text, ',', &range)) {
        uint64_t first, last;

        if (!span_take_dec(&range, &first))
            return -EBADMSG;
        last = first;
        if (span_take_char(&range, '-') && !span_take_dec(&range, &last))
            return -EBADMSG;
        if (range.n || last < first || last >= SAMPLER_CPUS_MAX)
            return -EBADMSG;
        for (uint64_t cpu = first; cpu <= last; cpu++) {
            if (n == SAMPLER_CPUS_MAX)
                return -EBADMSG;
            ret_cpus[n++] = (uint32_t)cpu;
        }
    }
    return n;
}

int sampler_online_cpus(uint32_t *ret_cpus, struct error *err)
{
    static const char PATH[] = "/sys/devices/system/cpu/online";
    _cleanup_buf_ struct buf text = BUF_NULL;
    int r;

    buf_init(&text, 4096);
    r = buf_read_at(&text, AT_FDCWD, PATH);
    if (r < 0)
        return error_code(err, r, "cannot read %s", PATH);
    r = sampler_parse_cpus(buf_span(&text), ret_cpus);
    if (r <= 0)
        return error_set(err, -EBADMSG, "%s holds no list of CPUs", PATH);
    return r;
}

int sampler_check_period(uint64_t period_ns, struct error *err)
{
    static const char PATH[] = "/proc/sys/kernel/perf_event_max_sample_rate";
    _cleanup_buf_ struct buf text = BUF_NULL;
    uint64_t max_hz, hz;

    if (period_ns < SAMPLER_PERIOD_MIN_NS || period_ns > SAMPLER_PERIOD_MAX_NS)
        return error_set(err, -EINVAL, "a period of %llu ns is not between 1 and 10,000 per second",
                         (unsigned long long)period_ns);
    buf_init(&text, 64);
    if (buf_read_at(&text, AT_FDCWD, PATH) < 0 ||
        !span_parse_dec(span_trim(buf_span(&text)), &max_hz))
        return 0; /* not told: the kernel decides */
    hz = (NSEC_PER_SEC + period_ns - 1) / period_ns;
    if (hz > max_hz) {
        error_set(err, -ERANGE,
                  "the kernel would drop samples: %llu a second are asked for and it allows %llu",
                  (unsigned long long)hz, (unsigned long long)max_hz);
        error_remedy(err,
                     "lower hz, or raise the limit: sysctl kernel.perf_event_max_sample_rate=%llu",
                     (unsigned long long)hz);
        return -ERANGE;
    }
    return 0;
}

void sampler_denied(struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct span setting = span_of("unknown");

    buf_init(&text, 64);
    if (buf_read_at(&text, AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid") == 0)
        setting = span_trim(buf_span(&text));
    error_remedy(err,
                 "give flamed-broker CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), for which "
                 "kernel.perf_event_paranoid, here %.*s, is no limit",
                 (int)setting.n, setting.p);
}

int sampler_open_cpu_clock(uint32_t cpu, uint64_t period_ns, struct error *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
        .disabled = 1,
        .exclude_idle = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, /* pid= */ -1, (int)cpu, /* group_fd= */ -1,
                          PERF_FLAG_FD_CLOEXEC);

    if (fd >= 0)
        return fd;
    fd = -errno;
    if (fd == -ENODEV)
        return fd;
    error_errno(err, "cannot open the CPU clock of CPU %u", cpu);
    if (fd == -EPERM || fd == -EACCES)
        sampler_denied(err);
    else if (fd == -EMFILE || fd == -ENFILE)
        error_remedy(err, "raise the limit of open files of flamed-broker (LimitNOFILE)");
    return fd;
}
