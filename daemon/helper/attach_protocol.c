/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The talker, inside the container: the second half of the protocol of HotSpot's attach listener,
 * version 1, which JDK 8 to 28 speak. It connects, checks the listener, sends one request and reads
 * the answer.
 */
#include "helper/become.h"

#include "agent/raw.h"
#include "helper/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define CONNECT_MS 1000 /* for a JVM that is just starting to listen */
#define CONNECT_PAUSE_MS 5

/* Returns our pid as the target's /proc shows it, which may belong to another pid namespace than
 * the target. */
static long own_pid(void)
{
    char text[24] = { 0 };
    long n = raw4(SYS_readlinkat, AT_FDCWD, "/proc/self", text, sizeof(text) - 1), pid = 0;

    for (const char *p = text; n > 0 && n < 11 && *p >= '0' && *p <= '9'; p++)
        pid = pid * 10 + (*p - '0');
    return pid > 0 ? pid : raw0(SYS_getpid);
}

/* Installs a filter that allows sending the request and reading the reply only, before the JVM or
 * another process of its user can trace us. */
static int confine_for_request(const struct attach *a)
{
    const struct call_rule rules[] = {
        CALL(clock_gettime),
        CALL(exit_group),
        CALL(ppoll),
        CALL_WITH(prctl, 0, PR_SET_DUMPABLE),
        CALL_WITH(read, 0, a->jvm_fd),
        CALL(restart_syscall),
        CALL(rt_sigreturn),
        CALL_WITH(sendto, 0, a->jvm_fd),
        CALL_WITH(write, 0, ATTACH_FD_RESULT),
    };

    return calls_allow_only(rules);
}

static int connect_to_jvm(const struct attach *a)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    uint64_t end = attach_now_ns() + CONNECT_MS * UINT64_C(1000000);
    long r;

    add_number(add_text(sa.sun_path, JVM_SOCKET), a->job.ns_pid);
    for (;;) {
        r = raw3(SYS_connect, a->jvm_fd, &sa, sizeof(sa));
        if ((r != -ECONNREFUSED && r != -EAGAIN) || attach_now_ns() >= end)
            return (int)r;
        pause_ms(CONNECT_PAUSE_MS);
    }
}

/* Checks that the listener is the JVM itself. */
static int check_peer(int fd, const struct attach_job *job)
{
    struct ucred peer = { 0 };
    socklen_t n = sizeof(peer);
    long r = raw5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);

    if (r < 0)
        return (int)r;
    return peer.pid == job->ns_pid && peer.uid == job->uid ? 0 : -EPERM;
}

/* Appends the path of the folder that was mounted over. */
static char *add_mounted(char *p, uint32_t mode)
{
    static const char folders[ATTACH_MOUNT_FOLDER_COUNT][8] = ATTACH_MOUNT_FOLDERS;

    return add_text(add_text(add_text(p, "/"), folders[mode - ATTACH_MOUNT]), "/");
}

/* Writes the request: version, command and exactly three arguments, each with its NUL. With fewer
 * arguments the JVM waits without end. */
static size_t write_request(const struct attach_job *job, char *to)
{
    char *p = add_text(to, "1") + 1;
    long self = own_pid();

    if (attach_loads(job->mode)) {
        p = add_text(p, "load") + 1;
        if (job->mode == ATTACH_COPY) {
            p = add_text(p, COPY_PATH) + 1;
        } else if (job->mode >= ATTACH_MOUNT) {
            p = add_text(add_mounted(p, job->mode), ATTACH_MOUNT_AGENT) + 1;
        } else {
            p = add_text(add_number(add_text(p, "/proc/"), self), "/fd/");
            p = add_number(p, ATTACH_FD_AGENT) + 1;
        }
        p = add_text(p, "true") + 1; /* the path that follows is absolute */
        if (job->mode >= ATTACH_MOUNT) {
            p = add_text(add_mounted(p, job->mode), ATTACH_MOUNT_FOLDER "/");
            p = add_text(p, ATTACH_MOUNT_STREAM) + 1;
        } else {
            p = add_text(add_number(add_text(p, "/proc/"), self), "/fd/");
            p = add_number(p, ATTACH_FD_OUT) + 1;
        }
    } else {
        p = add_text(p, "jcmd") + 1;
        p = add_text(add_number(add_text(p, "Compiler.perfmap /proc/"), self), "/fd/");
        p = add_number(p, ATTACH_FD_OUT) + 1;
        p = add_text(p, "") + 1;
        p = add_text(p, "") + 1;
    }
    return (size_t)(p - to);
}

/* Reads the reply until the JVM closes the socket or the buffer is full. */
static int read_reply(int fd, uint64_t deadline_ns, struct attach_result *result)
{
    for (;;) {
        long n;

        if (!wait_for(fd, POLLIN, deadline_ns))
            return -ETIMEDOUT;
        n = raw3(SYS_read, fd, result->reply + result->reply_n,
                 sizeof(result->reply) - result->reply_n);
        if (n == -EINTR || n == -EAGAIN)
            continue;
        if (n < 0)
            return result->reply_n ? 0 : (int)n;
        result->reply_n += (uint32_t)n;
        if (n == 0 || result->reply_n == sizeof(result->reply))
            return 0;
    }
}

static int ask(struct attach *a)
{
    char request[ATTACH_REQUEST_MAX];
    size_t n = write_request(&a->job, request);
    int r;

    a->step = ATTACH_STEP_FILTER;
    r = confine_for_request(a);
    if (r < 0)
        return r;
    a->step = ATTACH_STEP_SEND;
    /* Until the reply, the JVM and any process of its user may open our descriptors: the sealed
     * agent, the JVM's output file, the result pipe. */
    raw2(SYS_prctl, PR_SET_DUMPABLE, 1);
    r = (int)raw6(SYS_sendto, a->jvm_fd, (long)request, (long)n, MSG_NOSIGNAL, 0, 0);
    if (r == (int)n) {
        a->step = ATTACH_STEP_REPLY;
        r = read_reply(a->jvm_fd, a->deadline_ns, &a->result);
    } else if (r >= 0) {
        r = -EIO;
    }
    raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
    return r;
}

int talk_to_jvm(struct attach *a)
{
    int r;

    a->step = ATTACH_STEP_CONNECT;
    r = connect_to_jvm(a);
    if (r < 0)
        return r;
    a->step = ATTACH_STEP_PEER;
    r = check_peer(a->jvm_fd, &a->job);
    return r < 0 ? r : ask(a);
}
