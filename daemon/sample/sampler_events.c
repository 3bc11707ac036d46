/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf events behind the samples: one per online CPU, with a fixed period. Only events that the
 * processor counts may have a frequency instead: the kernel then adjusts the period, and gives it
 * in each sample.
 *
 * Events that the kernel itself counts (page faults, switches) are delivered one by one, and the
 * BPF program picks some. The kernel's own period would count the events of all processes on a CPU
 * together. If two processes take turns, every n-th event could then always be of the same process.
 */
#include "sample/sampler_events.h"

#include "base/buf.h"
#include "sample/pmu.h"
#include "sample/point_filter.h"
#include "sample/sampler.h"
#include "sample/tracepoint.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FORMAT_MAX_BYTES ((size_t)64 << 10) /* limit of tracefs's description of a tracepoint */

int sampler_parse_cpus(struct span text, uint32_t *ret_cpus)
{
    uint64_t first, last;
    int n = 0, r;

    text = span_trim(text);
    while ((r = span_take_range(&text, &first, &last)) > 0) {
        if (last >= SAMPLER_CPUS_MAX)
            return -EBADMSG;
        for (uint64_t cpu = first; cpu <= last; cpu++) {
            if (n == SAMPLER_CPUS_MAX)
                return -EBADMSG;
            ret_cpus[n++] = (uint32_t)cpu;
        }
    }
    return r < 0 ? r : n;
}

int sampler_online_cpus(uint32_t *ret_cpus, struct error *err)
{
    static const char PATH[] = "/sys/devices/system/cpu/online";
    _cleanup_buf_ struct buf text = BUF_UPTO(4096);
    int r;

    r = buf_read_at(&text, AT_FDCWD, PATH);
    if (r < 0)
        return error_code(err, r, "cannot read %s", PATH);
    r = sampler_parse_cpus(buf_span(&text), ret_cpus);
    if (r <= 0)
        return error_set(err, -EBADMSG, "%s holds no list of CPUs", PATH);
    return r;
}

int sampler_check_period(const struct sampler_event *event, uint64_t period, struct error *err)
{
    static const char PATH[] = "/proc/sys/kernel/perf_event_max_sample_rate";
    _cleanup_buf_ struct buf text = BUF_UPTO(64);
    uint64_t max_hz, hz;

    if (!event_period_valid(event->info->kind, period))
        return error_set(
            err, -EINVAL,
            "a period of %llu is not one that an event can have: CPU time is sampled 1 "
            "to 10,000 times a second",
            (unsigned long long)event_period_number(period));
    if (!event_has_timer(event->info) && (event->picks || !event_is_paced(period)))
        return 0;
    period = event_period_number(period);
    if (buf_read_at(&text, AT_FDCWD, PATH) < 0 ||
        !span_parse_dec(span_trim(buf_span(&text)), &max_hz))
        return 0; /* the limit is unreadable: leave the decision to the kernel */
    hz = (NSEC_PER_SEC + period - 1) / period;
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
    _cleanup_buf_ struct buf text = BUF_UPTO(64);
    struct span setting = span_of("unknown");

    if (buf_read_at(&text, AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid") == 0)
        setting = span_trim(buf_span(&text));
    error_remedy(err,
                 "give flamed-broker CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), for which "
                 "kernel.perf_event_paranoid, here %.*s, is no limit",
                 (int)setting.n, setting.p);
}

/* Sets the attributes of a breakpoint; EVENT_READ and so on equal HW_BREAKPOINT_R and so on. */
static void describe_breakpoint(const struct event_form *form, struct perf_event_attr *attr)
{
    _Static_assert((int)EVENT_READ == (int)HW_BREAKPOINT_R &&
                       (int)EVENT_WRITE == (int)HW_BREAKPOINT_W &&
                       (int)EVENT_EXECUTE == (int)HW_BREAKPOINT_X,
                   "accesses are numbered as the kernel does");
    /* x86 cannot watch reads alone; perf requests both, too. */
    attr->bp_type = form->access == EVENT_READ ? EVENT_READ | EVENT_WRITE : form->access;
    attr->bp_addr = form->address;
    attr->bp_len = form->bytes;
}

/* Sets the attributes of @form, an event with the row @info, without those of a PMU and the
 * modifiers. */
static void describe_form(const struct event_form *form, const struct event_info *info,
                          struct perf_event_attr *attr)
{
    attr->type = info->perf_type;
    attr->config = form->kind < EVENT_KINDS ? info->perf_config : form->config;
    if (form->kind == EVENT_BREAKPOINT)
        describe_breakpoint(form, attr);
}

int sampler_describe(enum event_kind kind, struct span text, int devices_fd,
                     struct sampler_event *ret, struct error *err)
{
    struct sampler_event e = { .attr = { .size = sizeof(e.attr) } };
    struct event_form form = { .kind = kind };
    uint64_t id;
    int r = 0;

    if (text.n == 0 && kind < EVENT_KINDS)
        text = span_of(events_row(kind)->name);
    else
        r = event_form_parse(text, &form, err);
    if (r == -ENOENT)
        return error_parameter(err, "event", r, "there is no event '%.*s'", (int)text.n, text.p);
    if (r < 0)
        return r;
    e.info = events_row(form.kind);
    e.program = e.info->program;
    describe_form(&form, e.info, &e.attr);
    if (form.kind == EVENT_PMU) {
        _cleanup_close_ int fd = -1;

        if (devices_fd < 0) {
            fd = open(PMU_DEVICES, O_PATH | O_DIRECTORY | O_CLOEXEC);
            devices_fd = fd;
        }
        if (devices_fd < 0)
            return error_errno(err, "cannot open %s", PMU_DEVICES);
        r = pmu_resolve(devices_fd, &form, &e.attr, err);
        if (r < 0)
            return r;
    }
    if (form.kind == EVENT_TRACEPOINT) {
        r = tracepoint_id(form.group, form.name, &id, err);
        if (r < 0)
            return r;
        e.attr.config = id;
    }
    e.everywhere = form.kind == EVENT_TRACEPOINT;
    e.picks = e.everywhere || form.kind == EVENT_BREAKPOINT ||
              (e.attr.type == PERF_TYPE_SOFTWARE && !event_has_timer(e.info));
    e.attr.exclude_user = form.exclude_user;
    e.attr.exclude_kernel = form.exclude_kernel;
    e.attr.exclude_hv = form.exclude_user || form.exclude_kernel; /* perf does the same */
    e.attr.exclude_idle = event_has_timer(e.info);
    span_copy(text, e.name, sizeof(e.name));
    span_copy(form.filter, e.filter, sizeof(e.filter));
    *ret = e;
    return 0;
}

static int translate(const struct sampler_event *event, struct point_filter *ret, struct error *err)
{
    _cleanup_buf_ struct buf format = BUF_UPTO(FORMAT_MAX_BYTES);
    struct event_form form;
    int r = event_form_parse(span_of(event->name), &form, err)
                ?: tracepoint_format(form.group, form.name, &format, err);

    return r < 0 ? r : point_filter_translate(span_of(event->filter), buf_span(&format), ret, err);
}

int sampler_translate_filter(const struct sampler_event *event, struct point_filter **ret,
                             struct error *err)
{
    _cleanup_free_ struct point_filter *filter = calloc(1, sizeof(*filter));
    int r = !filter ? -ENOMEM : event->filter[0] ? translate(event, filter, err) : 0;

    if (r == 0)
        *ret = TAKE_PTR(filter);
    return r;
}

/* Gives @event's filter to the kernel, which refuses what it does not understand. The kernel would
 * apply it only after the BPF programs, so they run a translation. */
static int set_filter(const struct sampler_event *event, int fd, struct error *err)
{
    int r;

    if (!event->filter[0] || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, event->filter) == 0)
        return 0;
    r = -errno;
    error_remedy(err, "write it as perf record --filter takes it");
    return error_parameter(err, "filter", r, "the kernel does not take the filter '%s'",
                           event->filter);
}

uint64_t sampler_period_on(const struct sampler_event *event, uint32_t cpu, uint64_t period)
{
    uint64_t part = period / SAMPLER_DETUNED;

    if (!event_has_timer(event->info) || event_is_paced(period))
        return period;
    return cpu % 2 ? period + part : period - part; /* the mean of all CPUs stays */
}

static int open_event(const struct perf_event_attr *attr, uint32_t cpu)
{
    int fd = (int)syscall(SYS_perf_event_open, attr, /* pid= */ -1, (int)cpu, /* group_fd= */ -1,
                          PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* Opens a breakpoint if the processor has another one, which stays free for debuggers. -errno;
 * -ENOSPC: too few are free. */
static int open_breakpoint(const struct perf_event_attr *attr, uint32_t cpu)
{
    int fd = open_event(attr, cpu), spare;

    if (fd < 0)
        return fd;
    spare = open_event(attr, cpu);
    if (spare >= 0)
        close(spare);
    else
        close(fd);
    return spare < 0 ? spare : fd;
}

int sampler_open_event(const struct sampler_event *event, uint32_t cpu, uint64_t period,
                       struct error *err)
{
    struct perf_event_attr attr = event->attr;
    int fd;

    attr.freq = event_is_paced(period) && !event->picks;
    if (attr.freq)
        attr.sample_freq =
            (NSEC_PER_SEC + event_period_number(period) / 2) / event_period_number(period);
    else
        attr.sample_period = event->picks ? 1 : period;
    attr.disabled = 1;
    fd = attr.type == PERF_TYPE_BREAKPOINT ? open_breakpoint(&attr, cpu) : open_event(&attr, cpu);
    if (fd >= 0) {
        int r = set_filter(event, fd, err);

        if (r < 0)
            close(fd);
        return r < 0 ? r : fd;
    }
    if (fd == -ENODEV)
        return fd;
    error_code(err, fd, "cannot open the event %s on CPU %u", event->name, cpu);
    if (fd == -EPERM || fd == -EACCES)
        sampler_denied(err);
    else if (fd == -EMFILE || fd == -ENFILE)
        error_remedy(err, "raise the limit of open files of flamed-broker (LimitNOFILE)");
    else if (fd == -ENOENT || fd == -EOPNOTSUPP)
        error_remedy(err, "this machine does not count it: many virtual machines have no hardware "
                          "counters, and some can be given them (a virtual PMU)");
    else if (fd == -EINVAL)
        error_remedy(err, "the processor or its PMU takes no such event, or cannot sample it");
    else if (fd == -ENOSPC)
        error_remedy(err, "the processor has few breakpoints, most have four, and flamed leaves "
                          "the last one to debuggers: end another capture of mem:, or a debugger");
    else if (fd == -EBUSY)
        error_remedy(err, "another program has the counter; end it, or wait for it");
    return fd;
}
