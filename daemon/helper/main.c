/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed-attach: one attach to one JVM. The broker's launcher executes it from a sealed memory
 * file, in the host's namespaces, with the descriptors of helper/job.h, without arguments and
 * environment. It uses no C library: no NSS module, locale or loader of the target can run in it,
 * and its memory holds no secrets. become.h explains the order of its steps.
 */
#define RAW_DEFINE_MEMORY
#include "agent/raw.h"
#include "helper/become.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define CPU_SECONDS 2
#define ADDRESSES_BYTES 1048576 /* only its initial mappings fit, no more memory */
#define COPY_BYTES_MAX 65536    /* the agent has 14 KB */

void write_result(const struct attach_result *result)
{
    raw3(SYS_write, ATTACH_FD_RESULT, result, sizeof(*result));
}

static void limit(int what, rlim_t value)
{
    struct rlimit l = { value, value };

    raw4(SYS_prlimit64, 0, what, &l, NULL);
}

static int read_job(struct attach_job *job)
{
    long n = raw4(SYS_pread64, ATTACH_FD_JOB, job, sizeof(*job), 0);

    raw1(SYS_close, ATTACH_FD_JOB);
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel wrote it */
    if (n != (long)sizeof(*job) || job->magic != ATTACH_MAGIC || job->version != ATTACH_VERSION ||
        job->mode >= ATTACH_MODE_END || job->ns_pid <= 0)
        return -EBADMSG;
    return 0;
}

static void prepare(void)
{
    raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
    raw2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    raw3(SYS_close_range, ATTACH_FD_END, ~0u, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, CPU_SECONDS);
    limit(RLIMIT_NOFILE, ATTACH_FILES_MAX);
    limit(RLIMIT_AS, ADDRESSES_BYTES);
    raw0(SYS_setsid);
    raw1(SYS_umask, 077);
    raw2(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    raw5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Runs all steps. Returns in the process that writes the result. */
static int run(struct attach *a)
{
    int r = guard_start(a);

    if (r == 0)
        r = become_target(a);
    if (r == 0)
        r = reach_jvm(a);
    if (r == 0)
        r = go_inside(a);
    return r == 0 ? talk_to_jvm(a) : r;
}

__attribute__((noreturn, used)) static void attach_main(void)
{
    static struct attach a = { .step = ATTACH_STEP_JOB, .guard_fd = -1, .jvm_fd = -1 };
    int r;

    prepare();
    a.started_ns = attach_now_ns();
    a.result.magic = ATTACH_MAGIC;
    a.result.version = ATTACH_VERSION;
    r = read_job(&a.job);
    limit(RLIMIT_FSIZE, r == 0 && a.job.mode == ATTACH_COPY ? COPY_BYTES_MAX : 0);
    if (r == 0)
        r = run(&a);
    a.result.step = r < 0 ? a.step : (uint32_t)ATTACH_STEP_DONE;
    a.result.error = r < 0 ? -r : 0;
    a.result.elapsed_ns = attach_now_ns() - a.started_ns;
    write_result(&a.result);
    for (;;)
        raw1(SYS_exit_group, r < 0);
}

#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start: endbr64\n xor %ebp, %ebp\n and $-16, %rsp\n call attach_main\n hlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x29, #0\n mov x30, #0\n bl attach_main\n brk #0\n");
#endif
