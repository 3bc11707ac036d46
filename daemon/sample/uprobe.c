/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/uprobe.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/sampler.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

int uprobe_type(uint32_t *ret, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    uint64_t type = 0;
    int r;

    buf_init(&text, 64);
    r = old_kernel_pretended("uprobes") ? -ENOENT : buf_read_at(&text, AT_FDCWD, UPROBE_TYPE);
    if (r == 0 && (!span_parse_dec(span_trim(buf_span(&text)), &type) || type > UINT32_MAX))
        r = -EBADMSG;
    if (r < 0) {
        error_code(err, r, "this kernel has no probes in user space (" UPROBE_TYPE ")");
        error_remedy(err, "run a kernel with CONFIG_UPROBE_EVENTS, and mount sysfs where "
                          "flamed-broker runs");
        return r;
    }
    *ret = (uint32_t)type;
    return 0;
}

int uprobe_attach(uint32_t type, struct bpf_program *program, int32_t pid, int fd, uint64_t offset,
                  uint64_t cookie, struct bpf_link **ret, struct error *err)
{
    LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = cookie);
    struct perf_event_attr attr = { .size = sizeof(attr), .type = type };
    _cleanup_close_ int event = -1;
    struct bpf_link *link;
    char path[32];
    int r;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    attr.uprobe_path = (uint64_t)(uintptr_t)path;
    attr.probe_offset = offset;
    event = (int)syscall(SYS_perf_event_open, &attr, pid, /* cpu= */ -1, /* group_fd= */ -1,
                         PERF_FLAG_FD_CLOEXEC);
    if (event < 0) {
        r = -errno;
        error_errno(err, "cannot put a probe into process %d", pid);
        if (r == -EPERM || r == -EACCES)
            sampler_denied(err);
        return r;
    }
    link = bpf_program__attach_perf_event_opts(program, event, &opts);
    if (!link)
        return error_errno(err, "cannot attach to a probe in process %d", pid);
    take_fd(&event); /* the link closes it */
    *ret = link;
    return 0;
}

void uprobe_detach(struct bpf_link *link)
{
    bpf_link__destroy(link);
}
