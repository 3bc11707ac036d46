/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the processes of a request. A selector is compiled once, then matched against many
 * processes. If it matches none, the error has a helpful sentence. A struct target is such a
 * selector with the part of the node that its client sees; it is no process. Thread: the engine's.
 */
#pragma once

#include "base/cleanup.h"
#include "discover/discover.h"
#include "request/backend.h"

struct target;

/* Compiles @s, and copies what it needs. Return: 0, -EINVAL (the regular expression) or -ENOMEM. */
int target_new(const struct target_selector *s, struct target **ret, struct error *err);
struct target *target_free(struct target *t);
CLEANUP_FUNCTION(target_freep, target, target_free)

/* Returns whether @s may be the beginning of a container id. */
bool target_is_id_prefix(const char *s);
/* Returns the name by which jvm= selects @p: a main class or jar, or the command of a native image.
 * "": not known, or @p runs no Java code. */
const char *target_main_of(const struct process *p);
/* Returns whether the viewer may see @p, selected or not. */
bool target_sees(const struct target *t, const struct process *p);
/* Returns the viewer. Points into @t. */
const struct viewer *target_viewer(const struct target *t);
/* Writes a name of the viewer, if it sees only a part of the node: "user 1001", or its matchers. */
void target_viewer_name(const struct viewer *v, char *buf, size_t size);
/* Returns whether the viewer sees @p and the selector matches it. */
bool target_matches(const struct target *t, const struct process *p);
/* Returns whether @t has every process: no selector, and a viewer that sees all. */
bool target_is_node(const struct target *t);
/* Returns whether @t has no selector, and so all processes that the viewer may see. */
bool target_is_open(const struct target *t);
/* Returns the scope of @t, as in struct profile. Points into @t. */
const char *target_scope(const struct target *t);
/* Writes the selector by main class, as "jvm=Work"; "": there is none. */
#define TARGET_MAIN_BYTES 96
void target_main_selector(const struct target *t, char ret[TARGET_MAIN_BYTES]);
/* Returns the pid if @t selects exactly one process, else 0. */
int32_t target_single_pid(const struct target *t);
/* Returns whether @t names processes by their pids. */
bool target_has_pids(const struct target *t);
/* Returns the number of running JVMs that match, and writes the first @max of them, borrowed from
 * @d. */
size_t target_jvms(const struct target *t, struct discover *d, struct process **ret, size_t max);
/* Writes @t for users: "pid 4242 (Main)", "the whole node". Clean text. */
void target_describe(const struct target *t, struct discover *d, char *buf, size_t size);

/* Refuses a list of the processes of @t that may be too short, as matching jvm= took too many steps
 * on many names. Returns 0, or -EINVAL with @err. */
int target_refuse_spent(const struct target *t, struct error *err);
/* Writes a warning for profiles of @t, if matching jvm= took too many steps on names; "": it did
 * not. */
#define TARGET_SLOW_BYTES 320
const char *target_slow_text(const struct target *t, char buf[TARGET_SLOW_BYTES]);

/*
 * Checks whether @t matches a process now; waits for starting JVMs only as long as a read takes.
 * Return: 0. BACKEND_NOT_FOUND with the nearest matches in @err. -EINVAL: pid and another selector
 * disagree, or a pid is a thread, a zombie or a kernel thread.
 */
int target_check(struct target *t, struct discover *d, int proc_fd, struct error *err);
