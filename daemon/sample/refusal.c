/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/refusal.h"

#include "base/cleanup.h"
#include "base/span.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SAID_MAX 160
#define MEMORY_TRIED_BYTES (1u << 20)

/* Of each thread: libbpf passes a message in the thread that called it, and several threads load or
 * attach programs at once. */
static _Thread_local char first_said[SAID_MAX];    /* libbpf's first warning: the cause if there is
                                                    * no log */
static _Thread_local char verifier_said[SAID_MAX]; /* the verifier's last line before its
                                                    * statistics */

static void keep(char *ret, struct span line)
{
    snprintf(ret, SAID_MAX, "%.*s", (int)MIN(line.n, (size_t)SAID_MAX - 1), line.p);
}

/* Keeps the reason: the last line of the log before "processed N insns..." and the lines that
 * libbpf adds. */
static void keep_last_line(const char *log)
{
    struct span rest = span_of(log), line;

    while (span_take_until(&rest, '\n', &line)) {
        line = span_trim(line);
        if (line.n && !span_starts_with(line, "processed ") && !span_starts_with(line, "--") &&
            !span_starts_with(line, "prog '") && !span_starts_with(line, "libbpf:"))
            keep(verifier_said, line);
    }
}

PRINTF_LIKE(2, 0)
static int listen_to_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
    _cleanup_free_ char *text = NULL;

    if (level != LIBBPF_WARN || vasprintf(&text, fmt, ap) < 0)
        return 0;
    if (strstr(text, "BEGIN PROG LOAD LOG"))
        keep_last_line(text);
    else if (!first_said[0])
        keep(first_said, (struct span){ text, strcspn(text, "\n") });
    return 0;
}

void refusal_watch(void)
{
    first_said[0] = '\0';
    verifier_said[0] = '\0';
    libbpf_set_print(listen_to_libbpf);
}

/* ---- causes, each tried rather than guessed ---- */

static bool has_capability(unsigned cap)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { 0 };

    return syscall(SYS_capget, &head, sets) == 0 && sets[cap / 32].effective & 1u << cap % 32;
}

/* Checks CAP_BPF and CAP_PERFMON (from Linux 5.8 on); CAP_SYS_ADMIN replaces both. */
static bool lacks_capability(struct error *err, int r)
{
    bool bpf = has_capability(CAP_BPF), perfmon = has_capability(CAP_PERFMON);

    if (has_capability(CAP_SYS_ADMIN) || (bpf && perfmon))
        return false;
    error_set(err, r, "flamed-broker may not load BPF programs: it lacks %s%s%s",
              bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ", perfmon ? "" : "CAP_PERFMON");
    error_remedy(err,
                 "give flamed-broker CAP_BPF and CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8)");
    return true;
}

static bool lacks_types(struct error *err, int r)
{
    if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
        return false;
    error_set(err, r, "the kernel describes no types (/sys/kernel/btf/vmlinux is missing)");
    error_remedy(err, "run a kernel built with CONFIG_DEBUG_INFO_BTF=y");
    return true;
}

/* lockdown=integrity lets programs read memory, lockdown=confidentiality does not. */
static bool is_locked_down(struct error *err, int r)
{
    _cleanup_close_ int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
    char text[128] = "";

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || !strstr(text, "[confidentiality]"))
        return false;
    error_set(err, r,
              "kernel lockdown is 'confidentiality', under which no BPF program may read memory");
    error_remedy(err, "boot with lockdown=integrity, or without");
    return true;
}

static int try_map(uint32_t bytes)
{
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "flamed_try", sizeof(uint32_t), bytes, 1, NULL);

    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

/* Checks bpf(2) itself: it may be missing, forbidden by a filter, or limited by locked memory:
 * before Linux 5.11, maps count as such. */
static bool is_closed(struct error *err, int r)
{
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
    int small = try_map(8), large = small ? small : try_map(MEMORY_TRIED_BYTES);

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (small == -ENOSYS) {
        error_set(err, r, "the kernel has no bpf(2)");
        error_remedy(err, "run a kernel built with CONFIG_BPF_SYSCALL=y");
    } else if (large == -EPERM && limit.rlim_cur != RLIM_INFINITY) {
        error_set(err, r, "the limit of locked memory, %llu KB, is too low for BPF maps",
                  (unsigned long long)limit.rlim_cur >> 10);
        error_remedy(err,
                     "raise it for flamed-broker: LimitMEMLOCK=infinity, or ulimit -l unlimited");
    } else if (small == -EPERM) {
        error_set(err, r, "bpf(2) is forbidden to flamed-broker in spite of its capabilities");
        error_remedy(err, "allow bpf and perf_event_open in the seccomp profile of its container");
    } else {
        return false;
    }
    return true;
}

static bool lacks_helper(struct error *err, int r)
{
    static const struct {
        enum bpf_func_id id;
        const char *name;
    } HELPERS[] = {
        { BPF_FUNC_ringbuf_output, "bpf_ringbuf_output" },
        { BPF_FUNC_get_current_task_btf, "bpf_get_current_task_btf" },
        { BPF_FUNC_get_attach_cookie, "bpf_get_attach_cookie" },
        { BPF_FUNC_task_pt_regs, "bpf_task_pt_regs" },
    };
    struct utsname u = { 0 };

    uname(&u);
    for (size_t i = 0; i < ARRAY_SIZE(HELPERS); i++) {
        if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, HELPERS[i].id, NULL) != 0)
            continue;
        error_set(err, r, "this kernel, %.64s, is too old to walk stacks: it has no %s()",
                  u.release, HELPERS[i].name);
        error_remedy(err, "run Linux 5.15 or later");
        return true;
    }
    return false;
}

/* ---- what the verifier's words mean ---- */

static const struct {
    const char *words, *meaning, *remedy;
} VERDICTS[] = {
    { "combined stack size", "this kernel allows programs less stack than flamed was made for",
      "run Linux 6.8 or later, and report this" },
    { "call stack of", "this kernel allows fewer calls within each other than flamed makes",
      "run Linux 6.8 or later, and report this" },
    { "is not supported yet", "this kernel cannot check functions by themselves",
      "run Linux 5.15 or later" },
    { "unknown func", "this kernel forbids, or does not have, a function that flamed needs",
      "run Linux 5.15 or later, without lockdown=confidentiality" },
    { "too large", "this kernel's verifier gives up before it has seen everything",
      "run Linux 5.15 or later, and report this" },
    { "too complex", "this kernel's verifier gives up before it has seen everything",
      "run Linux 5.15 or later, and report this" },
};

static int explain_verdict(struct error *err, int r)
{
    for (size_t i = 0; i < ARRAY_SIZE(VERDICTS); i++) {
        if (!strstr(verifier_said, VERDICTS[i].words))
            continue;
        error_set(err, r, "the kernel's verifier refuses the BPF programs: %s (%s)", verifier_said,
                  VERDICTS[i].meaning);
        error_remedy(err, "%s", VERDICTS[i].remedy);
        return r;
    }
    error_set(err, r, "the kernel's verifier refuses the BPF programs: %s", verifier_said);
    error_remedy(err, "run Linux 5.15 or later; if it is, report this");
    return r;
}

int refusal_explain(int r, struct error *err)
{
    if (lacks_types(err, r) || lacks_capability(err, r) || is_locked_down(err, r) ||
        lacks_helper(err, r) || is_closed(err, r))
        return r;
    if (verifier_said[0])
        return explain_verdict(err, r);
    error_code(err, r, "the kernel refuses the BPF programs%s%s", first_said[0] ? ": " : "",
               first_said);
    if (r == -ENOMEM)
        error_remedy(err, "raise the memory limit of flamed-broker");
    else
        error_remedy(err, "run Linux 5.15 or later with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS");
    return r;
}
