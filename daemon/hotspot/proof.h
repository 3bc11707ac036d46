/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to hotspot/: checks on the process itself whether the assumed layout of an unknown
 * release is right. Releases that were seen running are not checked. The functions return results
 * as hotspot/vm.h describes.
 */
#pragma once

#include "hotspot/vm.h"

/* Results of one check: number of cases, and number of right cases. */
struct check {
    const char *what; /* subject of a sentence: "methods have their names" */
    uint32_t asked, right;
};

/* Counts one more result. */
static inline void check_add(struct check *c, bool right)
{
    c->asked++;
    c->right += right;
}

/* Returns whether @c had at least @least cases, and @percent of them were right. */
static inline bool check_holds(const struct check *c, uint32_t least, uint32_t percent)
{
    return c->asked >= least && (uint64_t)c->right * 100 >= (uint64_t)c->asked * percent;
}

/* ---- proof.c ---- */

/* Checks vm->layout on the process and fills vm->proof. Return: 0 (methods have their names;
 * features with another failed check are off). HOTSPOT_UNSUPPORTED with @err, which names the
 * failed check. HOTSPOT_NOT_READY: no compiled code yet. -EAGAIN: reads were refused. -ESRCH;
 * -errno. */
int proof_run(struct hotspot_vm *vm, struct error *err);

/* ---- proof_methods.c ---- */

/* Checks the methods of java.lang.Object, String and Thread. Adds to @names whether the methods
 * have their names, and to @bodies whether their bytecodes, lines and files are plausible. Return:
 * 0; -ESRCH. */
int proof_methods(struct hotspot_vm *vm, struct check *names, struct check *bodies);
/* Checks whether the method at @method has valid names, and gets the size of its bytecodes. Returns
 * 1, 0 or -ESRCH. */
int proof_method(struct hotspot_vm *vm, uint64_t method, uint32_t *ret_code_bytes);

/* ---- proof_code.c ---- */

/* Adds to @code whether compiled methods are plausible. Adds to @scopes whether the methods inlined
 * in them are, and to @pieces whether the codelets of the interpreter are. Return: 0; -ESRCH. */
int proof_code(struct hotspot_vm *vm, struct check *code, struct check *scopes,
               struct check *pieces);

/* ---- proof_stacks.c ---- */

/* Adds to @stacks whether the Java frames of threads that left Java end at the call stub. Return:
 * 0; -ESRCH. */
int proof_stacks(struct hotspot_vm *vm, struct check *stacks);

/* ---- proof_objects.c ---- */

/* Adds to @threads whether the objects of threads lead back to their threads. Adds to @monitors
 * whether the monitors that threads wait for have an object. Return: 0; -ESRCH; -errno: the check
 * cannot be made. */
int proof_objects(struct hotspot_vm *vm, struct check *threads, struct check *monitors);
/* Adds to @sizes whether sizes of objects, buffers of threads and classes of a pool are plausible.
 * Return: 0; -ESRCH. */
int proof_allocation(struct hotspot_vm *vm, struct check *sizes);
