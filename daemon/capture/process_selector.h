/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes a request means: a selector compiled once, matched against many processes, and
 * the sentence that helps where it matches none. A struct target is such a selector with the part
 * of the node that its client sees; it is no process. Thread: the engine's.
 */
#pragma once

#include "base/cleanup.h"
#include "discover/discover.h"
#include "request/backend.h"

struct target;

/* Copies what it needs of @s. 0, -EINVAL (the regular expression) or -ENOMEM. */
int target_new(const struct target_selector *s, struct target **ret, struct error *err);
struct target *target_free(struct target *t);
CLEANUP_FUNCTION(target_freep, target, target_free)

/* Returns whether the viewer may see @p, selected or not. */
bool target_sees(const struct target *t, const struct process *p);
/* Returns the viewer. Points into @t. */
const struct viewer *target_viewer(const struct target *t);
/* Names the viewer, if it sees a part of the node: "user 1001", or by what it sees. */
void target_viewer_name(const struct viewer *v, char *buf, size_t size);
/* Returns whether @p belongs to it. */
bool target_matches(const struct target *t, const struct process *p);
/* No selector, asked by one who sees all: every process. */
bool target_is_node(const struct target *t);
/* No selector: all that the viewer may see. */
bool target_is_open(const struct target *t);
/* Returns what it is limited to, as struct profile's scope. Points into @t. */
const char *target_scope(const struct target *t);
/* Writes the selector that names its JVMs by their main class, as "jvm=Work". "": none does. */
#define TARGET_MAIN_BYTES 96
void target_main_selector(const struct target *t, char ret[TARGET_MAIN_BYTES]);
/* Returns the one pid it names, else 0. */
int32_t target_single_pid(const struct target *t);
/* Returns how many living JVMs belong to it, and writes the first @max of them, borrowed from @d.
 */
size_t target_jvms(const struct target *t, struct discover *d, struct process **ret, size_t max);
/* As a person would say it: "pid 4242 (Main)", "the whole node". Clean text. */
void target_describe(const struct target *t, struct discover *d, char *buf, size_t size);

/*
 * Reads what it takes to know now whether it matches anything (JVMs that are starting are waited
 * for no longer than a read takes). Return: 0. BACKEND_NOT_FOUND with the nearest matches named.
 * -EINVAL: pid and another selector disagree, or a pid is a thread, a zombie or a kernel thread.
 */
int target_check(struct target *t, struct discover *d, int proc_fd, struct error *err);
