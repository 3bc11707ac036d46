/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of hotspot/: whether what a release's tables are taken to say is so, compared with the
 * process itself. Of a release that was seen running nothing is asked. Results as in hotspot/vm.h.
 */
#pragma once

#include "hotspot/vm.h"

/* How often one thing was so, of how many times. */
struct check {
    const char *what; /* is a sentence's subject: "methods have their names" */
    uint32_t asked, right;
};

/* Counts one more answer. */
static inline void check_add(struct check *c, bool right)
{
    c->asked++;
    c->right += right;
}

/* Returns whether @c was asked @least times, and so in @percent of them. */
static inline bool check_holds(const struct check *c, uint32_t least, uint32_t percent)
{
    return c->asked >= least && (uint64_t)c->right * 100 >= (uint64_t)c->asked * percent;
}

/* ---- proof.c ---- */

/* Proves vm->layout on the process and fills vm->proof. 0: methods have their names, and what does
 * not hold of the rest is switched off. HOTSPOT_UNSUPPORTED with @err: they have not, and which
 * check failed. HOTSPOT_NOT_READY: it has compiled nothing yet; -ESRCH; -errno. */
int proof_run(struct hotspot_vm *vm, struct error *err);

/* ---- proof_methods.c ---- */

/* Adds to @names whether methods of java.lang.Object, String and Thread have their names. To
 * @bodies: whether their bytecodes, lines and files look as such. 0; -ESRCH. */
int proof_methods(struct hotspot_vm *vm, struct check *names, struct check *bodies);
/* Returns whether the method at @method has names that a method can have; its ConstMethod's bytes
 * of bytecodes. 1; 0; -ESRCH. */
int proof_method(struct hotspot_vm *vm, uint64_t method, uint32_t *ret_code_bytes);

/* ---- proof_code.c ---- */

/* Adds to @code whether compiled methods, and to @scopes whether what is inlined in them, make
 * sense, and to @pieces those of the interpreter. 0; -ESRCH. */
int proof_code(struct hotspot_vm *vm, struct check *code, struct check *scopes,
               struct check *pieces);

/* ---- proof_stacks.c ---- */

/* Adds to @stacks whether the Java frames of threads that left Java end at the call stub. 0;
 * -ESRCH. */
int proof_stacks(struct hotspot_vm *vm, struct check *stacks);

/* ---- proof_objects.c ---- */

/* Adds to @threads whether the objects of threads lead back to them, and to @monitors whether what
 * they wait for is an object. 0; -ESRCH; -errno: cannot be asked. */
int proof_objects(struct hotspot_vm *vm, struct check *threads, struct check *monitors);
/* Adds to @sizes whether sizes of objects, buffers of threads and classes of a pool make sense. 0;
 * -ESRCH. */
int proof_allocation(struct hotspot_vm *vm, struct check *sizes);
