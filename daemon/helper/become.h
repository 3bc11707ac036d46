/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside flamed-attach: the steps of one attach, in their order, and which of the three processes
 * runs each of them. docs/threat-model.md says why there are three.
 *
 *   the guard    in the host's namespaces; may end the others, and lets them do some things once
 *   the porter   outside of the container's pid namespace, so that nothing in there reaches it
 *   the talker   inside; has nothing that the container does not have
 *
 * Each step returns 0, or -errno with the step in attach->step.
 */
#pragma once

#include "helper/job.h"

#define ATTACH_FILES_MAX 16    /* descriptors of each process */
#define ATTACH_REQUEST_MAX 256 /* bytes of the talker's request to the JVM */

struct attach {
    struct attach_job job;
    struct attach_result result;
    uint32_t step;        /* enum attach_step: the step in progress */
    uint64_t started_ns;  /* attach_now_ns() */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; set when the namespaces are joined */
    int guard_fd;         /* the porter's socket to the guard */
    int jvm_fd;           /* the talker's socket to the JVM */
};

/* Forks the porter; the caller becomes the guard. Returns in the porter. In the guard, returns only
 * on failure. */
int guard_start(struct attach *a);

/* Turns the porter into the target: its namespaces, root and user, without any capability. */
int become_target(struct attach *a);
/* Makes the JVM listen. Runs in the porter and sets result.started. */
int reach_jvm(struct attach *a);
/* Forks the talker; the porter waits for it and exits. Returns in the talker, or in the porter on
 * failure. */
int go_inside(struct attach *a);

/* Sends the request and reads the reply, in the talker. Sets result.reply and result.reply_n. */
int talk_to_jvm(struct attach *a);

#define JVM_SOCKET "/tmp/.java_pid" /* followed by the JVM's pid */

/* Path of the agent's copy in the container. */
#define COPY_PATH "/tmp/.flamed-agent-1.so"
#define COPY_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
/* Copies the agent into the target's /tmp, owned by its user. Runs in the porter. */
int copy_agent(void);
/* Removes the copy of copy_agent(). Runs in the porter. */
void copy_remove(void);

/* Uses Landlock, if available, to forbid opening and creating files. Removing files stays
 * allowed. */
void forbid_files(void);

/* Drops every capability that is not in the mask @keep. Return: 0 or -errno. */
int drop_capabilities(uint32_t keep);
void write_result(const struct attach_result *result);
/* Waits for @events on @fd until @deadline_ns. Return: 1 if they came, else 0. */
int wait_for(int fd, short events, uint64_t deadline_ns);
/* Sleeps @ms milliseconds. */
void pause_ms(uint64_t ms);

/* Returns the ms left until @deadline_ns; 0 if it has passed. */
static inline uint64_t attach_deadline_left_ms(uint64_t deadline_ns, uint64_t now_ns)
{
    return now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000000 + 1 : 0;
}
/* Returns CLOCK_MONOTONIC, which differs in a joined time namespace. */
uint64_t attach_now_ns(void);

/* Append a text with its NUL, or a decimal number. Return: the new end. */
char *add_text(char *to, const char *s);
char *add_number(char *to, long n);
