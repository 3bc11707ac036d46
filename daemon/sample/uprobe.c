/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/uprobe.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/private_fs.h"
#include "sample/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

/* The part of union bpf_attr that BPF_LINK_CREATE reads for such a link. */
struct uprobe_multi {
    uint32_t program_fd, target_fd, attach_type, flags;
    uint64_t path;                            /* char * */
    uint64_t offsets, ref_offsets, cookies;   /* uint64_t[count]; ref_offsets may be 0 */
    uint32_t count, multi_flags, pid, unused; /* pid 0: all */
};
_Static_assert(sizeof(struct uprobe_multi) == 64, "the layout of the kernel");

struct uprobes {
    int pins_fd;
    size_t count;
    int links[]; /* fd of the link of each place; -1: the link is pinned */
};

int uprobe_pins_open(void)
{
    return old_kernel_pretended("probe-pins") ? -ENOSYS : private_fs_open("bpf", 0);
}

static int link_create(const struct uprobe_multi *m)
{
    int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, m, sizeof(*m));

    return fd < 0 ? -errno : fd;
}

/*
 * Checks by two calls with invalid arguments that such links work. Before Linux 6.6, every call is
 * refused with EINVAL. Linux 6.6 to 6.9 takes the pid for that of a thread, and refuses the path.
 * Later kernels take it for that of a process, and refuse -1 before they read the path.
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
                              .count = 1 };
    _cleanup_close_ int program = -1, known = -1, fd = -1;

    if (old_kernel_pretended("uprobe-multi"))
        return false;
    program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "Dual BSD/GPL", NOTHING,
                            ARRAY_SIZE(NOTHING), &opts);
    if (program < 0)
        return false;
    m.program_fd = (uint32_t)program;
    known = link_create(&m);
    m.pid = UINT32_MAX;
    fd = link_create(&m);
    return known == -EBADF && fd == -EINVAL;
}

int uprobe_find_way(int pins_fd, struct uprobe_way *ret, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(64);
    uint64_t type = 0;
    int r;

    r = old_kernel_pretended("uprobes") ? -ENOENT : buf_read_at(&text, AT_FDCWD, UPROBE_TYPE);
    if (r == 0 && (!span_parse_dec(span_trim(buf_span(&text)), &type) || type > UINT32_MAX))
        r = -EBADMSG;
    if (r < 0) {
        error_code(err, r, "this kernel has no probes in user space (" UPROBE_TYPE ")");
        error_remedy(err, "run a kernel with CONFIG_UPROBE_EVENTS, and mount sysfs where "
                          "flamed-broker runs");
        return r;
    }
    *ret = (struct uprobe_way){ .perf_type = (uint32_t)type,
                                .multi = multi_works(),
                                .pins_fd = pins_fd };
    return 0;
}

int uprobe_check(struct error *err)
{
    struct uprobe_way way;

    return uprobe_find_way(/* pins_fd= */ -1, &way, err);
}

void uprobe_prepare(const struct uprobe_way *way, struct bpf_program *program)
{
    if (way->multi)
        bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)UPROBE_MULTI);
}

/* Writes the sentence for the failure @r. Returns @r. */
static int refuse(int r, int32_t pid, struct error *err)
{
    error_code(err, r, "cannot put a probe into process %d", pid);
    if (r == -EPERM || r == -EACCES)
        sampler_denied(err);
    return r;
}

/* Attaches a link with one place. A link with several places is unsafe: if the thread is killed in
 * between, the probes put so far stay without a link. */
static int attach_multi(int program, int32_t pid, const char *path,
                        const struct uprobe_place *place)
{
    struct uprobe_multi m = { .program_fd = (uint32_t)program,
                              .attach_type = UPROBE_MULTI,
                              .path = (uint64_t)(uintptr_t)path,
                              .offsets = (uint64_t)(uintptr_t)&place->offset,
                              .cookies = (uint64_t)(uintptr_t)&place->cookie,
                              .count = 1,
                              .pid = (uint32_t)pid };

    return link_create(&m);
}

static int attach_event(uint32_t type, int program, int32_t pid, const char *path,
                        const struct uprobe_place *place)
{
    LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = place->cookie);
    struct perf_event_attr attr = { .size = sizeof(attr), .type = type };
    _cleanup_close_ int event = -1;

    attr.uprobe_path = (uint64_t)(uintptr_t)path;
    attr.probe_offset = place->offset;
    event = (int)syscall(SYS_perf_event_open, &attr, pid, /* cpu= */ -1, /* group_fd= */ -1,
                         PERF_FLAG_FD_CLOEXEC);
    return event < 0 ? -errno : bpf_link_create(program, event, BPF_PERF_EVENT, &opts);
}

/* The name of a place's pin: no other struct uprobes has this address until it is freed. */
#define PIN_NAME_MAX 40

static void pin_name(const struct uprobes *u, size_t i, char ret[static PIN_NAME_MAX])
{
    snprintf(ret, PIN_NAME_MAX, "%" PRIxPTR "-%zu", (uintptr_t)u, i);
}

static bool pin(const struct uprobes *u, size_t i)
{
    char name[PIN_NAME_MAX], path[PIN_NAME_MAX + 32];

    if (u->pins_fd < 0)
        return false;
    pin_name(u, i, name);
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", u->pins_fd, name);
    return bpf_obj_pin(u->links[i], path) == 0;
}

int uprobes_attach(const struct uprobe_way *way, int program, int32_t pid, int fd,
                   const struct uprobe_place *places, size_t count, struct uprobes **ret,
                   struct error *err)
{
    struct uprobes *u = calloc(1, sizeof(*u) + count * sizeof(*u->links));
    char path[32];

    if (!u)
        return -ENOMEM;
    u->pins_fd = way->pins_fd;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (size_t i = 0; i < count; i++) {
        int r = way->multi ? attach_multi(program, pid, path, &places[i])
                           : attach_event(way->perf_type, program, pid, path, &places[i]);

        if (r < 0) {
            uprobes_detach(u);
            return refuse(r, pid, err);
        }
        u->links[i] = r;
        u->count++;
        if (pin(u, i)) /* the pin keeps the link: closing the fd removes no probe */
            u->links[i] = close_fd(u->links[i]);
    }
    *ret = u;
    return 0;
}

bool uprobes_detach_some(struct uprobes *u)
{
    char name[PIN_NAME_MAX];
    bool pinned = true;

    while (u->count > 0 && pinned) {
        pinned = u->links[--u->count] < 0;
        pin_name(u, u->count, name);
        if (pinned)
            unlinkat(u->pins_fd, name, 0);
        else
            close_fd(u->links[u->count]);
    }
    if (u->count > 0)
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
