/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attach through the real flamed-broker, without the rest of flamed, for the tests of
 * containers and of attacks:
 *
 *   attach_probe BROKER PID [load|copy|mount|perfmap|check] [SECONDS] [stubs] [hold] [tmp]
 *                [allow] [start=TICKS] [times=N]
 *
 * Prints lines "key: value" and, for each piece of code at the end, its ranges:
 *   code START END METHOD... (innermost first, CLASS.NAME:LINE)
 * "allow": the broker may mount in containers; "tmp": over /tmp, too. With "hold" it does not close
 * the stream at the end but waits to be killed. start=TICKS: of the process that is meant, in place
 * of the one that has this pid now. times=N: so many attaches, one after another, by one broker.
 */
#include "attach/reply.h"
#include "attach/stream.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "broker_client/broker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLEAN_UP_MS 5000
#define INTERVAL_US 1100000 /* one attach per second of an owner */

static pid_t start_broker(const char *path, bool allow, int *ret_fd)
{
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        exit(2);
    pid = fork();
    if (pid == 0) {
        char client[32], fd[16];

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        snprintf(client, sizeof(client), "--client=%d", getppid());
        snprintf(fd, sizeof(fd), "--fd=%d", dup(pair[1]));
        execl(path, "flamed-broker", fd, client, "--log-level=warning",
              allow ? "--attach-mount" : (char *)NULL, (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    *ret_fd = pair[0];
    return pid;
}

static int print_range(void *cookie, uint64_t start, uint64_t end,
                       const struct code_location *frames, size_t count)
{
    struct code_map *map = cookie;

    printf("code %jx %jx", (uintmax_t)start, (uintmax_t)end);
    for (size_t i = 0; i < count; i++) {
        struct code_method m;

        if (code_map_method(map, frames[i].method, &m))
            printf(" %.*s.%.*s:%u", (int)m.class_name.n, m.class_name.p, (int)m.name.n, m.name.p,
                   code_map_line(map, frames[i].method, frames[i].bci));
        else
            printf(" ?");
    }
    printf("\n");
    return 0;
}

static int print_piece(void *cookie, const struct code_piece *p)
{
    if (p->stub)
        printf("stub %jx %jx %.*s\n", (uintmax_t)p->start, (uintmax_t)p->end, (int)p->stub_name.n,
               p->stub_name.p);
    else
        code_map_each_range(p, print_range, cookie);
    return 0;
}

static void print_stream(struct stream *s, uint64_t began, double seconds, bool hold)
{
    uint64_t end = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
    struct code_map_stats m;
    struct stream_status t;
    struct error err = ERROR_NULL;
    int r;

    do {
        r = stream_poll(s, clock_monotonic_ns());
        if (clock_monotonic_ns() < end)
            usleep(20000);
    } while (r == 0 && (clock_monotonic_ns() < end || hold));
    m = code_map_stats(stream_map(s));
    t = stream_status(s);
    printf("poll: %d\nproblem: %s\n", r, stream_problem(s, &err) ? err.msg : "");
    printf("state: %d\nreplayed: %ju\nreplay_us: %ju\nevents: %ju\nagent_dropped: %ju\n", t.state,
           (uintmax_t)t.replayed, (uintmax_t)t.replay_ns / 1000, (uintmax_t)t.events,
           (uintmax_t)t.dropped);
    printf("records: %ju\nmethods: %ju\npieces: %ju\nunloads: %ju\ndropped: %ju\nbytes: %zu\n",
           (uintmax_t)m.records, (uintmax_t)m.methods, (uintmax_t)m.pieces, (uintmax_t)m.unloads,
           (uintmax_t)m.dropped, m.bytes);
    printf("total_us: %ju\n", (uintmax_t)(clock_monotonic_ns() - began) / 1000);
    code_map_each(stream_map(s), UINT64_MAX, print_piece, stream_map(s));
}

static void print_file(int fd)
{
    char part[65536];
    ssize_t n;

    for (off_t at = 0; (n = pread(fd, part, sizeof(part), at)) > 0; at += n)
        fwrite(part, 1, (size_t)n, stdout);
}

static int attach_once(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                       uint32_t options, double seconds, bool hold)
{
    uint64_t began = clock_monotonic_ns();
    struct error err = ERROR_NULL;
    struct attach_result result;
    char bytes[sizeof(result)];
    struct stream *s = NULL;
    int pipe_fd = -1, out = -1, r;
    ssize_t n;

    r = broker_attach(b, id, mode, tmp, options, &pipe_fd, &out, &err);
    printf("attach: %d\n", r);
    if (r == 0) {
        struct pollfd p = { .fd = pipe_fd, .events = POLLIN };

        if (attach_loads(mode)) /* before it is over: the lease */
            r = stream_open(take_fd(&out), NULL, 0, &s, &err);
        while (poll(&p, 1, 10) == 0) { /* as flamed does */
            if (s)
                stream_poll(s, clock_monotonic_ns());
        }
        n = read(pipe_fd, bytes, sizeof(bytes));
        printf("attach_us: %ju\n", (uintmax_t)(clock_monotonic_ns() - began) / 1000);
        /* The broker ends with this program, and the helper with the broker: first it cleans up. */
        p.events = 0;
        poll(&p, 1, CLEAN_UP_MS);
        if (attach_result_check((struct span){ bytes, (size_t)MAX(n, 0) }, &result) < 0) {
            printf("result: none\n");
        } else {
            r = attach_outcome(&result, mode, &err);
            printf("step: %s\nerrno: %d\nstarted: %u\nhelper_us: %ju\n",
                   attach_step_name(result.step), result.error, result.started,
                   (uintmax_t)result.elapsed_ns / 1000);
        }
        printf("outcome: %d\n", r);
        if (r == 0 && s)
            print_stream(s, began, seconds, hold);
        else if (r == 0)
            print_file(out);
    }
    printf("error: %s\nremedy: %s\n", err.msg, err.remedy);
    stream_close(s);
    close_fd(pipe_fd);
    close_fd(out);
    return r;
}

int main(int argc, char **argv)
{
    struct proc_id id = { 0 };
    const char *mode = argc > 3 ? argv[3] : "load";
    double seconds = argc > 4 ? strtod(argv[4], NULL) : 0;
    bool stubs = false, hold = false, tmp = false, allow = false;
    struct error err = ERROR_NULL;
    struct broker *b = NULL;
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1, r = -1;
    long times = 1;
    pid_t broker;

    if (argc < 3)
        return 2;
    for (int i = 5; i < argc; i++) {
        stubs |= strcmp(argv[i], "stubs") == 0;
        hold |= strcmp(argv[i], "hold") == 0;
        tmp |= strcmp(argv[i], "tmp") == 0;
        allow |= strcmp(argv[i], "allow") == 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    broker = start_broker(argv[1], allow, &fd);
    id.host_pid = (int32_t)strtol(argv[2], NULL, 10);
    if (broker_new(fd, &b) < 0 || proc_read_start(proc_fd, id.host_pid, &id.start_ticks) != 0)
        return 2;
    for (int i = 5; i < argc; i++) {
        if (strncmp(argv[i], "start=", 6) == 0)
            id.start_ticks = strtoull(argv[i] + 6, NULL, 10);
        if (strncmp(argv[i], "times=", 6) == 0)
            times = strtol(argv[i] + 6, NULL, 10);
    }
    if (strcmp(mode, "check") == 0) {
        r = broker_attach_check(b, &id, &err);
        printf("check: %d\nerror: %s\nremedy: %s\n", r, err.msg, err.remedy);
    } else {
        uint32_t m = strcmp(mode, "perfmap") == 0 ? ATTACH_PERFMAP
                     : strcmp(mode, "copy") == 0  ? ATTACH_COPY
                     : strcmp(mode, "mount") == 0 ? ATTACH_MOUNT
                                                  : ATTACH_LOAD;

        broker_attach_check(b, &id, &err); /* the broker has started, as flamed's has */
        for (long i = 0; i < times; i++) {
            if (i)
                usleep(INTERVAL_US);
            r = attach_once(b, &id, m, tmp, stubs ? STREAM_OPTION_STUBS : 0, seconds, hold);
        }
    }
    broker_free(b);
    waitpid(broker, NULL, 0);
    return r == 0 ? 0 : 1;
}
