/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at a target's mappings that the broker needs for itself, before it puts a probe or
 * attaches. A file system that does not answer can block a reader of mappings, so openers perform
 * these looks (file_openers_look()). Looks are not requests: flamed cannot make them.
 */
#pragma once

#include "broker/file_openers.h"

#define OPENER_LOOK_PLACES_MAX 32

/* OPENER_LOOK_AGENT, with fields.target: the agent of this build that the process has mapped; an
 * fd, or BROKER_ABSENT. OPENER_LOOK_CODE: whether the process runs the code that the file of a
 * mapping has at these places, as mapped_check_code() returns it. OPENER_LOOK_JVM, with
 * fields.target: a struct look_jvm. */
struct look_code_fields {
    struct mapping_fields at;
    uint64_t inode;                          /* inode of the file that must be mapped there */
    uint32_t device;                         /* device of that file, as the kernel encodes it */
    uint32_t libjvm;                         /* 1: the mapping must have the name libjvm.so */
    uint64_t places[OPENER_LOOK_PLACES_MAX]; /* 0 ends the list */
};

/* What an attach needs to know about a process that maps a libjvm.so. */
struct look_jvm {
    uint32_t uid, gid; /* effective ids of the JVM, not of an earlier or later program */
    uint64_t mappings; /* at most MAPS_MAX_LINES */
};

/* Answers a look in an opener: an opener_look_fn. */
bool opener_look_answer(struct server *s, const void *raw, size_t n, struct broker_request *q,
                        struct reply *rep, int *ret_result);
/* Let an opener look for the agent, or at the code at @count places of the file @fd of @at. 0,
 * PROC_GONE, -errno; -ETIMEDOUT: the process's mappings cannot be read. *ret_fd -1: it has not
 * mapped the agent. */
int opener_look_for_agent(struct server *s, const struct target_fields *of, int *ret_fd,
                          struct error *err);
int opener_look_at_code(struct server *s, const struct mapping_fields *at, bool libjvm, int fd,
                        const uint64_t *places, size_t count, struct error *err);
/* Lets an opener check that the process is a JVM. Returns as above; -EPERM: it is not a JVM. */
int opener_look_at_jvm(struct server *s, const struct target_fields *of, struct look_jvm *ret,
                       struct error *err);
