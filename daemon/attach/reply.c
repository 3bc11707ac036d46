/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/reply.h"

#include <ctype.h>

#define SHOWN_MAX 160 /* bytes of a JVM's text that are quoted */

static const struct {
    const char *name, *what, *remedy;
} STEPS[ATTACH_STEP_END] = {
    [ATTACH_STEP_NONE] = { "none", "the attach helper sent no result", "" },
    [ATTACH_STEP_JOB] = { "start", "the attach helper could not be started",
                          "one attach runs per JVM, two per container, and one starts per second "
                          "on the node: try again" },
    [ATTACH_STEP_GROUPS] = { "groups", "cannot drop supplementary groups",
                             "flamed-broker needs CAP_SETGID" },
    [ATTACH_STEP_NAMESPACES] = { "namespaces", "cannot enter the target's namespaces",
                                 "flamed-broker needs CAP_SYS_ADMIN and CAP_SYS_CHROOT, and Linux "
                                 "5.8" },
    [ATTACH_STEP_FORK] = { "fork", "cannot fork inside the target's pid namespace",
                           "raise the container's limit of pids" },
    [ATTACH_STEP_ROOT] = { "root", "cannot change to the target's root directory",
                           "flamed-broker needs CAP_SYS_CHROOT" },
    [ATTACH_STEP_USER] = { "user", "cannot become the target's user",
                           "flamed-broker needs CAP_SETUID and CAP_SETGID" },
    [ATTACH_STEP_CAPABILITIES] = { "capabilities", "cannot drop capabilities", "" },
    [ATTACH_STEP_FILTER] = { "filter", "cannot install the filter of system calls", "" },
    [ATTACH_STEP_STATE] = { "state",
                            "the JVM is not in a state to be sent SIGQUIT (stopped, in its first "
                            "moments, or it runs with -Xrs)",
                            "symbols=memory needs no attach" },
    [ATTACH_STEP_TRIGGER] = { "trigger", "cannot create /tmp/.attach_pid in the container",
                              "give the container a writable /tmp, or allow attach_mount; "
                              "symbols=memory needs none" },
    [ATTACH_STEP_SIGNAL] = { "signal", "cannot signal the JVM", "" },
    [ATTACH_STEP_LISTENER] = { "listener", "the JVM did not begin to listen",
                               "it may be busy or without its Signal Dispatcher; symbols=memory "
                               "needs no attach" },
    [ATTACH_STEP_SOCKET] = { "socket", "/tmp/.java_pidN in the container is not a socket",
                             "remove the file from the container's /tmp" },
    [ATTACH_STEP_CONNECT] = { "connect", "cannot connect to the JVM's socket", "" },
    [ATTACH_STEP_PEER] = { "peer", "another process than the JVM listens at the JVM's socket",
                           "end that process of the container; symbols=memory needs no attach" },
    [ATTACH_STEP_SEND] = { "send", "cannot send the request to the JVM", "" },
    [ATTACH_STEP_REPLY] = { "reply", "the JVM did not answer",
                            "another tool may be attached to it" },
    [ATTACH_STEP_COPY] = { "copy", "the agent cannot be put into the container's /tmp",
                           "give the container a writable /tmp; symbols=memory needs no agent" },
    [ATTACH_STEP_DONE] = { "done", "done", "" },
    [ATTACH_STEP_KILLED] = { "killed", "the attach helper did not finish in time and was killed",
                             "its container may have stopped it, or the node was busy with other "
                             "attaches; symbols=memory needs no attach" },
    [ATTACH_STEP_MOUNT] = { "mount", "nothing can be mounted over /mnt, /media or /srv",
                            "give the image an empty folder /mnt that only root can write; "
                            "symbols=memory needs no agent" },
    [ATTACH_STEP_TMP] = { "tmp", "/tmp in the container cannot be mounted over",
                          "give the container a /tmp that can be written (an emptyDir at /tmp); "
                          "symbols=memory needs none" },
};

const char *attach_step_name(uint32_t step)
{
    return step < ATTACH_STEP_END ? STEPS[step].name : "unknown";
}

int attach_result_check(struct span bytes, struct attach_result *ret)
{
    struct attach_result r;

    if (bytes.n < sizeof(r))
        return -EBADMSG;
    memcpy(&r, bytes.p, sizeof(r));
    if (r.magic != ATTACH_MAGIC || r.version != ATTACH_VERSION || r.step >= ATTACH_STEP_END ||
        r.reply_n > sizeof(r.reply) || r.error < 0 || r.error > 4095)
        return -EBADMSG;
    *ret = r;
    return 0;
}

/* Writes the text to @buf as one line of plain characters. Cuts what is too long. */
static const char *shown(struct span s, char buf[SHOWN_MAX])
{
    size_t n = 0;

    s = span_trim(s);
    for (size_t i = 0; i < s.n && n + 1 < SHOWN_MAX; i++)
        buf[n++] = isprint((unsigned char)s.p[i]) ? s.p[i] : ' ';
    buf[n] = '\0';
    return buf;
}

static int refused(struct span text, struct error *err)
{
    char buf[SHOWN_MAX];

    if (memmem(text.p, text.n, "Dynamic agent loading is not enabled", 36)) {
        error_set(err, -EPERM, "the JVM runs with -XX:-EnableDynamicAgentLoading");
        error_remedy(err, "symbols=memory needs no agent; nor does symbols=perfmap from JDK 22 on");
        return -EPERM;
    }
    if (memmem(text.p, text.n, "was not loaded", 14)) {
        error_set(err, -ENOEXEC, "the JVM refused: %s", shown(text, buf));
        error_remedy(err, "it may not open flamed's file: a security module, or no /proc in the "
                          "container; attach_mount may help; symbols=memory needs no agent");
        return -ENOEXEC;
    }
    error_set(err, -EIO, "the JVM refused: %s", shown(text, buf));
    error_remedy(err, "symbols=memory needs no agent");
    return -EIO;
}

int attach_reply_check(struct span reply, uint32_t mode, struct error *err)
{
    struct span rest = reply, status, line;

    if (!span_take_line(&rest, &status) || status.n == 0)
        return error_set(err, -EPROTO, "the JVM closed the connection without an answer");
    if (span_eq_str(status, "101"))
        return error_set(err, -EPROTO, "the JVM does not speak version 1 of the attach protocol");
    if (!span_eq_str(status, "0"))
        return refused(rest, err);
    if (mode == ATTACH_PERFMAP)
        return 0; /* the file that the JVM wrote shows the success */
    if (!span_take_line(&rest, &line))
        return error_set(err, -EPROTO, "the JVM's answer ends in the middle");
    span_take_str(&line, "return code: ");
    if (span_eq_str(line, "0"))
        return 0;
    /* JDK 21 and later write "0" and then the reason of a failure. */
    return refused(line, err);
}

/* JVMs of several containers have the same pids. If they share a /tmp, a socket left by one keeps a
 * JVM of another user from listening. */
static int foreign_socket(struct error *err)
{
    error_set(err, -EPERM,
              "attach: /tmp/.java_pidN, where this JVM would listen, belongs to another user");
    error_remedy(err, "remove it if the JVM that made it is gone, or give each container a /tmp of "
                      "its own; symbols=memory needs no attach");
    return -EPERM;
}

static int keeps_processes(struct error *err)
{
    error_set(err, -EDQUOT,
              "attach: an earlier attach helper cannot end: a tracer or a file system of this "
              "JVM's container or user holds it");
    error_remedy(err, "end the debugger or tracer there, or the server of that file system; "
                      "symbols=memory needs no attach");
    return -EDQUOT;
}

int attach_outcome(const struct attach_result *r, uint32_t mode, struct error *err)
{
    if (r->step == ATTACH_STEP_DONE)
        return attach_reply_check((struct span){ r->reply, MIN(r->reply_n, sizeof(r->reply)) },
                                  mode, err);
    if (r->step == ATTACH_STEP_SOCKET && r->error == EPERM)
        return foreign_socket(err);
    if (r->step == ATTACH_STEP_JOB && r->error == EDQUOT)
        return keeps_processes(err);
    error_code(err, r->error ? -r->error : -EIO, "attach: %s", STEPS[r->step].what);
    if (STEPS[r->step].remedy[0])
        error_remedy(err, "%s", STEPS[r->step].remedy);
    return r->error ? -r->error : -EIO;
}
