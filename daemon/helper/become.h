/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside flamed-attach: the steps of one attach, in their order, and in which of its three
 * processes each runs. docs/threat-model.md says why they are three.
 *
 *   the guard    in the host's namespaces; may end the others, and lets them do some things once
 *   the porter   outside of the container's pid namespace, so that nothing in there reaches it
 *   the talker   inside; has nothing that the container does not have
 *
 * Each step returns 0, or -errno with the step in attach->step.
 */
#pragma once

#include "helper/job.h"

#define ATTACH_FILES_MAX 16    /* descriptors of each */
#define ATTACH_REQUEST_MAX 256 /* bytes that the talker sends to the JVM */

struct attach {
    struct attach_job job;
    struct attach_result result;
    uint32_t step;        /* enum attach_step: the one that is tried */
    uint64_t started_ns;  /* attach_now_ns() */
    uint64_t deadline_ns; /* the same; set when the namespaces are joined */
    int guard_fd;         /* the porter's socket to the guard */
    int jvm_fd;           /* a socket that the talker connects to the JVM */
};

/* Forks the porter from the guard. Returns in the porter; in the guard only on failure. */
int guard_start(struct attach *a);

/* Makes the porter become the target: its namespaces, root and user, and no capability. */
int become_target(struct attach *a);
/* Makes the JVM listen, from the porter. Sets result.started. */
int reach_jvm(struct attach *a);
/* Forks the talker from the porter, which waits for it and ends. Returns in the talker, or on
 * failure. */
int go_inside(struct attach *a);

/* Talks to the JVM, from the talker. Sets result.reply and reply_n. */
int talk_to_jvm(struct attach *a);

#define JVM_SOCKET "/tmp/.java_pid" /* and its pid */

/* The copy of the agent. */
#define COPY_PATH "/tmp/.flamed-agent-1.so"
#define COPY_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
/* Puts the agent into the target's /tmp as its user. The porter calls it. */
int copy_agent(void);
/* Removes that copy. The porter calls it. */
void copy_remove(void);

/* From here on no file is opened or made, where the kernel has Landlock. Only one can be removed.
 */
void forbid_files(void);

/* Removes every capability but those of the mask @keep. Return: 0 or -errno. */
int drop_capabilities(uint32_t keep);
void write_result(const struct attach_result *result);
/* Waits for @fd until @deadline_ns. Return: 1 if there is something, else 0. */
int wait_for(int fd, short events, uint64_t deadline_ns);
/* Waits at most until @deadline_ns, without a descriptor. */
void pause_ms(uint64_t ms);

/* Returns how many ms are left until @deadline_ns; 0 if it has passed. */
static inline uint64_t attach_deadline_left_ms(uint64_t deadline_ns, uint64_t now_ns)
{
    return now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000000 + 1 : 0;
}
/* CLOCK_MONOTONIC. A joined time namespace has another. */
uint64_t attach_now_ns(void);

/* Of the helper's own memory. Appends a NUL-terminated text with its NUL, or a number. Return: the
 * new end. */
char *add_text(char *to, const char *s);
char *add_number(char *to, long n);
