/* SPDX-License-Identifier: Apache-2.0 */
/* Drops the namer's rights: it keeps a few system calls and little memory. */
#include "namer/namer_process.h"

#include "base/capabilities.h"
#include "base/common_calls.h"

#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Memory beyond what the program maps at its start, sanitizers' tables included. */
#define MEMORY_MORE_BYTES ((rlim_t)64 << 20)
#define STACK_BYTES ((rlim_t)4 << 20)
/* CPU limit of a worker if its timer fails. A sound worker ends itself at half of it. */
#define CPU_SECONDS 10

/* The flags that fork() passes to clone(). */
#define FORK_FLAGS ((scmp_datum_t)(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CSIGNAL))

/* A worker's system calls: read a question, write an answer, set its timer, end. */
static const int ALLOWED_IN_WORKER[] = {
    SCMP_SYS(brk),          SCMP_SYS(clock_gettime), SCMP_SYS(exit),
    SCMP_SYS(exit_group),   SCMP_SYS(madvise),       SCMP_SYS(mremap),
    SCMP_SYS(munmap),       SCMP_SYS(recvfrom),      SCMP_SYS(restart_syscall),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sendto),        SCMP_SYS(setitimer),
    SCMP_SYS(sigaltstack), /* sanitizers query the stack at a longjmp() */
};

/* The keeper's further system calls: start workers and wait for them. */
static const int ALLOWED_IN_KEEPER[] = {
    SCMP_SYS(clock_nanosleep), SCMP_SYS(futex),     SCMP_SYS(getpid),
    SCMP_SYS(getppid),         SCMP_SYS(gettid),    SCMP_SYS(nanosleep),
    SCMP_SYS(prctl),           SCMP_SYS(prlimit64), SCMP_SYS(rseq),
    SCMP_SYS(rt_sigprocmask),  SCMP_SYS(seccomp),   SCMP_SYS(set_robust_list),
    SCMP_SYS(wait4),
};

/* Installs the filter: no memory becomes executable, and any other system call ends the process. */
static int filter_calls(bool keeper)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int r = ctx ? calls_allow(ctx, ALLOWED_IN_WORKER, ARRAY_SIZE(ALLOWED_IN_WORKER)) : -ENOMEM;

    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                             SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (r == 0 && keeper)
        r = calls_allow(ctx, ALLOWED_IN_KEEPER, ARRAY_SIZE(ALLOWED_IN_KEEPER));
    if (r == 0 && keeper) /* fork(), and no namespaces */
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, ~FORK_FLAGS, 0));
    if (r == 0)
        r = seccomp_load(ctx);
    seccomp_release(ctx);
    return r;
}

static void limit(int resource, rlim_t value)
{
    const struct rlimit limit = { value, value };

    setrlimit(resource, &limit);
}

/* Returns the bytes that this process has mapped. */
static rlim_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

int namer_lock_keeper(void)
{
    rlim_t mapped = mapped_bytes();
    sigset_t none;
    int r;

    if (!mapped)
        return -EIO;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    limit(RLIMIT_AS, mapped + MEMORY_MORE_BYTES);
    limit(RLIMIT_STACK, STACK_BYTES);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_MEMLOCK, 0);
    limit(RLIMIT_NOFILE, NAMER_FD + 1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    r = capabilities_drop(); /* flamed has none when it starts the namer, but a test has some */
    return r < 0 ? r : filter_calls(/* keeper= */ true);
}

int namer_lock_worker(void)
{
    limit(RLIMIT_CPU, CPU_SECONDS);
    return filter_calls(/* keeper= */ false);
}
