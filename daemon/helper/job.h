/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input and output of flamed-attach: one fixed-size struct each way, and the numbers of its only
 * descriptors. flamed-attach becomes the target's user inside the target's container. The broker
 * therefore treats its result as foreign: bounded, checked, never trusted.
 */
#pragma once

#include <stdint.h>

#define ATTACH_MAGIC UINT32_C(0x54414c46) /* "FLAT" */
#define ATTACH_VERSION UINT32_C(1)
#define ATTACH_REPLY_MAX 3968
#define ATTACH_DEADLINE_MS 30000u /* time limit; a JVM may be in a long collection */
#define ATTACH_MOUNTED_MS                                                                          \
    10000u /* the limit while a file system of flamed is mounted in the container */

enum attach_fd {                       /* 0, 1 and 2 are closed */
                 ATTACH_FD_RESULT = 3, /* pipe, to write */
                 ATTACH_FD_TARGET = 4, /* pidfd */
                 ATTACH_FD_AGENT = 5,  /* memory file: libflamed-agent.so, sealed */
                 ATTACH_FD_OUT = 6,    /* memory file: what the JVM writes */
                 ATTACH_FD_ROOT =
                     7, /* the target's root, O_PATH; closed before the change of user */
                 ATTACH_FD_STATUS =
                     8, /* the host's /proc/PID/status; closed before the JVM can trace us */
                 ATTACH_FD_JOB = 9, /* struct attach_job, sealed; closed once read */
                 ATTACH_FD_END = 10,
};

enum attach_mode {
    ATTACH_LOAD = 0,    /* load the agent, which writes agent/stream.h */
    ATTACH_PERFMAP = 1, /* jcmd Compiler.perfmap into the memory file: since JDK 22 */
    ATTACH_COPY = 2,    /* like LOAD, from a copy in the container's /tmp, where the JVM may load no
                         * memory file */
    /* Like LOAD, where the JVM may load neither of these. Agent and output are in a file system
     * that is mounted over a folder of the container. The value is ATTACH_MOUNT plus the folder's
     * index in ATTACH_MOUNT_FOLDERS. */
    ATTACH_MOUNT = 3,
    ATTACH_MODE_END = 6,
};

/* Mount points that images usually have: empty, owned by root, writable by root only. */
#define ATTACH_MOUNT_FOLDERS                                                                       \
    {                                                                                              \
        "mnt", "media", "srv"                                                                      \
    }
#define ATTACH_MOUNT_FOLDER_COUNT 3
#define ATTACH_MOUNT_AGENT "flamed-agent-1.so" /* constant, like COPY_PATH */
#define ATTACH_MOUNT_FOLDER "stream"
#define ATTACH_MOUNT_STREAM "flamed-stream"
_Static_assert(ATTACH_MOUNT + ATTACH_MOUNT_FOLDER_COUNT == ATTACH_MODE_END, "a mode for each");

/* File systems that are mounted for one attach, as bits. Zero unless the configuration allows it.
 */
enum attach_mounts {
    ATTACH_MOUNTS_TMP = 1,   /* over a /tmp on a read-only file system */
    ATTACH_MOUNTS_AGENT = 2, /* for ATTACH_MOUNT */
    ATTACH_MOUNTS_PAID = 4,  /* with AGENT: the pages of the output are charged to flamed */
    ATTACH_MOUNTS_ALL = 7,
};

/* Returns whether the agent is loaded. */
static inline int attach_loads(uint32_t mode)
{
    return mode != ATTACH_PERFMAP;
}

struct attach_job {
    uint32_t magic, version;
    uint32_t ns_flags;   /* CLONE_NEW* of the namespaces that differ from flamed's */
    uint32_t uid, gid;   /* effective ids in the target's user namespace */
    int32_t ns_pid;      /* the JVM's pid in its innermost namespace */
    uint32_t mode;       /* enum attach_mode */
    uint32_t timeout_ms; /* after this time flamed-attach gives up */
};
_Static_assert(sizeof(struct attach_job) == 32, "no padding");

/* The step that flamed-attach has reached. */
enum attach_step {
    ATTACH_STEP_NONE = 0, /* flamed-attach wrote no result */
    ATTACH_STEP_JOB = 1,
    ATTACH_STEP_GROUPS = 2,
    ATTACH_STEP_NAMESPACES = 3,
    ATTACH_STEP_FORK = 4,
    ATTACH_STEP_ROOT = 5,
    ATTACH_STEP_USER = 6,
    ATTACH_STEP_CAPABILITIES = 7,
    ATTACH_STEP_FILTER = 8,
    ATTACH_STEP_STATE = 9,    /* the JVM's state does not allow SIGQUIT */
    ATTACH_STEP_TRIGGER = 10, /* the file that makes a JVM listen */
    ATTACH_STEP_SIGNAL = 11,
    ATTACH_STEP_LISTENER = 12, /* the JVM did not start to listen */
    ATTACH_STEP_SOCKET = 13,   /* the socket is not the JVM's */
    ATTACH_STEP_CONNECT = 14,
    ATTACH_STEP_PEER = 15, /* the listener is not the JVM */
    ATTACH_STEP_SEND = 16,
    ATTACH_STEP_REPLY = 17,
    ATTACH_STEP_DONE = 18,   /* there is a reply */
    ATTACH_STEP_COPY = 19,   /* the agent could not be copied into the container's /tmp */
    ATTACH_STEP_KILLED = 20, /* the helper was killed at its deadline, or died */
    ATTACH_STEP_MOUNT = 21,  /* the agent could be mounted over no folder of the container */
    ATTACH_STEP_TMP = 22,    /* no mount over the container's /tmp was possible */
    ATTACH_STEP_END,
};

struct attach_result {
    uint32_t magic, version;
    uint32_t step;    /* enum attach_step: the failed step, or ATTACH_STEP_DONE */
    int32_t error;    /* errno; 0 */
    uint32_t started; /* 1: SIGQUIT was sent, and the JVM listens */
    uint32_t reply_n;
    uint64_t elapsed_ns;
    char reply[ATTACH_REPLY_MAX]; /* as the JVM sent it */
};
_Static_assert(sizeof(struct attach_result) == 4000, "below PIPE_BUF, so written in one piece");
