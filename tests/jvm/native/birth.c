/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops the last process of an attach at its birth, before it is bound to its parent, and ends
 * that parent. A process of the same user may manage that by luck; a tracer does it for certain.
 *
 *   birth PROGRAM ARGUMENT...
 *
 * Starts the program, which attaches, and follows all that it starts. Prints "stopped PID" once,
 * and ends with the program.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
    (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

static pid_t guard, porter, talker;

static int is_attach(pid_t pid)
{
    char path[64], name[128];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    n = readlink(path, name, sizeof(name) - 1);
    name[n < 0 ? 0 : n] = 0;
    return strstr(name, "flamed-attach") != NULL;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512] = { 0 };
    pid_t parent = 0;
    const char *p;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && (p = strrchr(text, ')')))
        sscanf(p + 1, " %*c %d", &parent);
    if (fd >= 0)
        close(fd);
    return parent;
}

/* The first stop of a new process, which may be told before the event of its parent. */
static void note(pid_t pid)
{
    pid_t parent = guard ? parent_of(pid) : 0;

    if (!parent)
        return;
    if (parent == guard && !porter)
        porter = pid;
    else if (parent == porter && !talker)
        talker = pid;
}

/* Leaves it stopped as a signal does, and nobody traces it. */
static void leave_stopped(void)
{
    kill(talker, SIGSTOP);
    ptrace(PTRACE_DETACH, talker, NULL, NULL);
    kill(porter, SIGKILL);
    printf("stopped %d\n", talker);
}

int main(int argc, char **argv)
{
    pid_t program = fork(), pid;
    int status, left = 0;

    if (argc < 2)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (program == 0) {
        raise(SIGSTOP);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    waitpid(program, &status, WUNTRACED);
    ptrace(PTRACE_SEIZE, program, NULL, (void *)OPTIONS);
    kill(program, SIGCONT);
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        int event = status >> 16, signal = WSTOPSIG(status);

        if (!WIFSTOPPED(status)) {
            if (pid == program)
                return 0;
            continue;
        }
        if (event == PTRACE_EVENT_EXEC && !guard && is_attach(pid))
            guard = pid;
        if (event == PTRACE_EVENT_STOP)
            note(pid);
        if (pid != talker || left)
            ptrace(event == PTRACE_EVENT_STOP && signal != SIGTRAP ? PTRACE_LISTEN : PTRACE_CONT,
                   pid, NULL, event ? NULL : (void *)(long)signal);
        if (talker && !left) {
            left = 1;
            leave_stopped();
        }
    }
    return 0;
}
