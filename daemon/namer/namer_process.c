/* SPDX-License-Identifier: Apache-2.0 */
#include "namer/namer_process.h"

#include "base/clock.h"
#include "base/fds.h"
#include "namer/namer_abi.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker ends itself after this many names, because longjmp() abandons memory that a name
 * allocated. The next worker starts with fresh memory. */
#define WORKER_NAMES 20000
#define WORKER_CPU_NS (5 * NSEC_PER_SEC)
#define EXIT_RENEW 3
/* The pause before the next worker, if the last one ended without a symbol in progress. */
#define AGAIN_NS (100 * NSEC_PER_MSEC)

/* Memory that keeper and worker share: a question, and its answer so far. If a worker ends, the
 * next one continues. */
struct desk {
    struct namer_question question;
    struct namer_answer answer;
    size_t read_bytes; /* bytes of question.text before the next symbol */
    size_t used_bytes; /* of answer.text */
    uint32_t begun;    /* symbols that this worker has begun */
    uint32_t timed;    /* symbols begun since this worker set its timer */
    bool full;         /* holds a question; answer.count of its symbols are done */
};

/* Stores the outcome of the next symbol. Its text of @n bytes is in place. In the keeper, a worker
 * that foreign text took over may have written any count. */
static void keep(struct desk *d, enum namer_outcome outcome, size_t n)
{
    struct namer_answer *a = &d->answer;
    uint32_t i = a->count;

    if (i >= NAMER_NAMES_MAX)
        return;
    a->outcome[i] = (uint8_t)outcome;
    a->n[i] = (uint16_t)n;
    d->used_bytes += n;
    d->read_bytes += d->question.n[i];
    a->count = i + 1; /* last, because it marks the symbol as done */
}

/* ---- the worker ---- */

static void set_timer(uint64_t ns)
{
    const struct itimerval timer = { .it_value = { .tv_usec = (suseconds_t)(ns / NSEC_PER_USEC) } };

    setitimer(ITIMER_PROF, &timer, NULL); /* SIGPROF ends this process */
}

static void name_next(struct desk *d)
{
    const struct namer_question *q = &d->question;
    struct namer_answer *a = &d->answer;
    char symbol[MANGLED_MAX + 1];
    size_t n = q->n[a->count];

    memcpy(symbol, q->text + d->read_bytes, n);
    symbol[n] = '\0';
    d->begun++;
    d->timed++;
    n = demangle(symbol, a->text + d->used_bytes);
    keep(d, n ? NAMER_HAS_TEXT : NAMER_HAS_NONE, n);
}

static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID); /* the clock of the process is too coarse while it has
                                               * a timer */
}

/* Answers the question on the desk, or the part that an earlier worker did not answer. All symbols
 * of an answer together take far less time than one symbol may take, so one timer is enough. */
static bool answer(struct desk *d)
{
    uint64_t begun_ns = cpu_ns();
    size_t bytes;

    d->timed = 0;
    set_timer(NAMER_NAME_NS);
    while (d->answer.count < d->question.count &&
           (!d->answer.count || d->answer.cpu_ns < NAMER_ANSWER_NS))
        name_next(d);
    set_timer(0);
    d->answer.cpu_ns += cpu_ns() - begun_ns;
    bytes = offsetof(struct namer_answer, text) + d->used_bytes;
    return send(NAMER_FD, &d->answer, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/* Begins a question of @n bytes. Returns false if it is malformed. The sender is as trusted as this
 * code. */
static bool take_question(struct desk *d, ssize_t n)
{
    const struct namer_question *q = &d->question;
    size_t bytes = offsetof(struct namer_question, text);

    if (n < (ssize_t)bytes || !q->count || q->count > NAMER_NAMES_MAX)
        return false;
    for (uint32_t i = 0; i < q->count; i++) {
        if (q->n[i] > MANGLED_MAX)
            return false;
        bytes += q->n[i];
    }
    if ((size_t)n != bytes)
        return false;
    d->answer.number = q->number;
    d->answer.count = 0;
    d->answer.cpu_ns = 0;
    d->read_bytes = d->used_bytes = 0;
    d->full = true;
    return true;
}

/* Runs a worker. A question stays in the socket until it is answered. So if a worker dies of a
 * question, the next worker finds it there. A repeated answer has the same number. */
static _Noreturn void work(struct desk *d)
{
    ssize_t n;

    d->begun = 0;
    if (namer_lock_worker() < 0)
        _exit(1);
    while (d->begun < WORKER_NAMES && cpu_ns() < WORKER_CPU_NS) {
        if (!d->full) {
            n = recv(NAMER_FD, &d->question, sizeof(d->question), MSG_PEEK);
            if (n <= 0 || !take_question(d, n))
                _exit(0);
        }
        if (!answer(d))
            _exit(0);
        d->full = false;
        if (recv(NAMER_FD, &d->question, sizeof(d->question.number), 0) < 0)
            _exit(0);
    }
    _exit(EXIT_RENEW);
}

/* ---- the keeper ---- */

/* Handles the end of a worker with @status while it had a symbol in progress. Earlier symbols may
 * have used up the worker's time or damaged its memory. In that case a new worker tries the symbol
 * once more. */
static void note_death(struct desk *d, int status)
{
    bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;

    d->answer.cpu_ns += late ? NAMER_NAME_NS : 0;
    if ((late ? d->timed : d->begun) == 1)
        keep(d, late ? NAMER_TIMED_OUT : NAMER_DIED, 0);
}

static int keep_working(struct desk *d)
{
    const struct timespec again = { .tv_nsec = AGAIN_NS };
    pid_t keeper = getpid(), pid;
    int status;

    for (;;) {
        pid = fork();
        if (pid < 0) {
            nanosleep(&again, NULL);
            continue;
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            if (getppid() != keeper)
                _exit(0);
            work(d);
        }
        while (waitpid(pid, &status, 0) < 0) {
            if (errno != EINTR)
                return 1;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_RENEW)
            continue;
        if (d->full && d->begun && d->answer.count < d->question.count)
            note_death(d, status);
        else
            nanosleep(&again, NULL);
    }
}

int namer_run(void)
{
    struct desk *d =
        mmap(NULL, sizeof(*d), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (d == MAP_FAILED)
        return 1;
    prctl(PR_SET_NAME, "flamed-namer");
    signal(SIGPROF, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGHUP, SIG_IGN); /* SIGHUP is meant for flamed; the namer ends with its socket */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    setpriority(PRIO_PROCESS, 0, 0); /* as in any part of flamed that must not delay the engine */
    fds_close(0, NAMER_FD - 1);
    fds_close(NAMER_FD + 1, ~0u);
    return namer_lock_keeper() < 0 ? 1 : keep_working(d);
}
