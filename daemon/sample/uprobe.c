/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/uprobe.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"
#define UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, which older headers do not have */

/* What BPF_LINK_CREATE takes for it, in the layout of union bpf_attr. */
struct uprobe_multi {
    uint32_t program_fd, target_fd, attach_type, flags;
    uint64_t path;                            /* char * */
    uint64_t offsets, ref_offsets, cookies;   /* uint64_t[count]; the second may be 0 */
    uint32_t count, multi_flags, pid, unused; /* pid 0: all */
};
_Static_assert(sizeof(struct uprobe_multi) == 64, "the layout of the kernel");

struct uprobes {
    int multi_fd; /* -1: links */
    size_t count; /* of places */
    size_t link_count;
    struct bpf_link *links[]; /* owned */
};

static int link_create(const struct uprobe_multi *m)
{
    int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, m, sizeof(*m));

    return fd < 0 ? -errno : fd;
}

/*
 * Linux 6.6 to 6.9 knows such links, but takes a pid for that of a thread. Later kernels take it
 * for that of a process, and refuse -1 before they look at the path. The others refuse the path.
 */
static bool multi_works(void)
{
    static const struct bpf_insn NOTHING[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = UPROBE_MULTI);
    static const uint64_t OFFSET;
    struct uprobe_multi m = { .attach_type = UPROBE_MULTI,
                              .path = (uint64_t)(uintptr_t) "/",
                              .offsets = (uint64_t)(uintptr_t)&OFFSET,
                              .count = 1,
                              .pid = UINT32_MAX };
    _cleanup_close_ int program = -1, fd = -1;

    if (old_kernel_pretended("uprobe-multi"))
        return false;
    program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "Dual BSD/GPL", NOTHING,
                            ARRAY_SIZE(NOTHING), &opts);
    if (program < 0)
        return false;
    m.program_fd = (uint32_t)program;
    fd = link_create(&m);
    return fd == -EINVAL;
}

int uprobe_find_way(struct uprobe_way *ret, struct error *err)
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
    *ret = (struct uprobe_way){ .perf_type = (uint32_t)type, .multi = multi_works() };
    return 0;
}

void uprobe_prepare(const struct uprobe_way *way, struct bpf_program *program)
{
    if (way->multi)
        bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)UPROBE_MULTI);
}

/* The sentence for the failure @r. */
static int refuse(int r, int32_t pid, struct error *err)
{
    error_code(err, r, "cannot put a probe into process %d", pid);
    if (r == -EPERM || r == -EACCES)
        sampler_denied(err);
    return r;
}

static int attach_multi(struct bpf_program *program, int32_t pid, const char *path,
                        const struct uprobe_place *places, size_t count, struct uprobes *u,
                        struct error *err)
{
    _cleanup_free_ uint64_t *words = calloc(count, 2 * sizeof(*words));
    struct uprobe_multi m = { .program_fd = (uint32_t)bpf_program__fd(program),
                              .attach_type = UPROBE_MULTI,
                              .path = (uint64_t)(uintptr_t)path,
                              .offsets = (uint64_t)(uintptr_t)words,
                              .cookies = (uint64_t)(uintptr_t)(words + count),
                              .count = (uint32_t)count,
                              .pid = (uint32_t)pid };
    int r;

    if (!words)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        words[i] = places[i].offset;
        words[count + i] = places[i].cookie;
    }
    r = link_create(&m);
    if (r < 0)
        return refuse(r, pid, err);
    u->multi_fd = r;
    return 0;
}

static int attach_one(uint32_t type, struct bpf_program *program, int32_t pid, const char *path,
                      const struct uprobe_place *place, struct bpf_link **ret, struct error *err)
{
    LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = place->cookie);
    struct perf_event_attr attr = { .size = sizeof(attr), .type = type };
    _cleanup_close_ int event = -1;
    struct bpf_link *link;

    attr.uprobe_path = (uint64_t)(uintptr_t)path;
    attr.probe_offset = place->offset;
    event = (int)syscall(SYS_perf_event_open, &attr, pid, /* cpu= */ -1, /* group_fd= */ -1,
                         PERF_FLAG_FD_CLOEXEC);
    if (event < 0)
        return refuse(-errno, pid, err);
    link = bpf_program__attach_perf_event_opts(program, event, &opts);
    if (!link)
        return error_errno(err, "cannot attach to a probe in process %d", pid);
    take_fd(&event); /* the link closes it */
    *ret = link;
    return 0;
}

int uprobes_attach(const struct uprobe_way *way, struct bpf_program *program, int32_t pid, int fd,
                   const struct uprobe_place *places, size_t count, struct uprobes **ret,
                   struct error *err)
{
    struct uprobes *u = calloc(1, sizeof(*u) + count * sizeof(struct bpf_link *));
    char path[32];
    int r = 0;

    if (!u)
        return -ENOMEM;
    u->multi_fd = -1;
    u->count = count;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (way->multi)
        r = attach_multi(program, pid, path, places, count, u, err);
    for (size_t i = 0; !way->multi && i < count && r == 0; i++) {
        r = attach_one(way->perf_type, program, pid, path, &places[i], &u->links[i], err);
        if (r == 0)
            u->link_count++;
    }
    if (r < 0) {
        uprobes_detach(u);
        return r;
    }
    *ret = u;
    return 0;
}

size_t uprobes_count(const struct uprobes *u)
{
    return u->count;
}

bool uprobes_detach_some(struct uprobes *u)
{
    u->multi_fd = close_fd(u->multi_fd);
    if (u->link_count > 0)
        bpf_link__destroy(u->links[--u->link_count]);
    if (u->link_count > 0)
        return true;
    free(u);
    return false;
}

struct uprobes *uprobes_detach(struct uprobes *u)
{
    while (u && uprobes_detach_some(u))
        ;
    return NULL;
}
