/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the layout of a release that was not seen running. Its tables are read like those of the
 * neighbouring releases, and checked on the process before flamed gives a name. Each check counts
 * its results. The checks read some thousand methods and threads at most, and follow no reference
 * further than one step.
 */
#include "hotspot/proof.h"

#include <inttypes.h>

#define METHODS_LEAST 60 /* methods of three classes, which have 280 and more */
#define PIECES_LEAST 150 /* pieces of the interpreter, which has 270 */
#define THREADS_LEAST 3
#define PERCENT_ALL 100
#define PERCENT_MOST 98 /* percent; allows for changes during the read */

static int proof_refuse(const struct hotspot_vm *vm, const struct check *c, struct error *err)
{
    return hotspot_refuse(err,
                          "JDK %d is not known to this flamed, and its memory is not laid out as "
                          "that of the JDKs next to it: %s in %" PRIu32 " of %" PRIu32
                          " cases only",
                          vm->layout.jdk, c->what, c->right, c->asked);
}

/* Returns whether this VM compiles methods, so that compiled code must appear soon. */
static bool compiles(struct hotspot_vm *vm)
{
    uint64_t compiler = 1, level = 4;

    hotspot_vm_flag(vm, "UseCompiler", &compiler);
    hotspot_vm_flag(vm, "TieredStopAtLevel", &level);
    return compiler && level;
}

/* Checks of the layouts that names and stacks need. */
struct names_checks {
    struct check names, bodies, code, scopes, pieces, stacks;
};

static const struct names_checks NAMES_CHECKS = {
    .names = { .what = "methods of java.lang.Object, String and Thread have their names" },
    .bodies = { .what = "bytecodes, lines and files of these are valid" },
    .code = { .what = "compiled methods have a valid method, frame and entries" },
    .scopes = { .what = "inlined methods are in the one that was compiled" },
    .pieces = { .what = "pieces of the interpreter have a name" },
    .stacks = { .what = "stacks of threads end at the call stub" },
};

/* Returns the first check of @c that fails; NULL: none. */
static const struct check *names_failed(const struct names_checks *c)
{
    if (!check_holds(&c->names, METHODS_LEAST, PERCENT_ALL))
        return &c->names;
    if (!check_holds(&c->bodies, METHODS_LEAST, PERCENT_MOST))
        return &c->bodies;
    if (!check_holds(&c->pieces, PIECES_LEAST, PERCENT_ALL))
        return &c->pieces;
    if (!check_holds(&c->code, 0, PERCENT_MOST))
        return &c->code;
    if (!check_holds(&c->scopes, (c->code.asked + 15) / 16, PERCENT_MOST))
        return &c->scopes;
    return check_holds(&c->stacks, 1, 80) ? NULL : &c->stacks;
}

static int prove_names(struct hotspot_vm *vm, struct error *err, uint32_t *ret_asked,
                       uint32_t *ret_right)
{
    struct names_checks c = NAMES_CHECKS;
    const struct check *failed;
    int r = proof_methods(vm, &c.names, &c.bodies) ?:
            proof_code(vm, &c.code, &c.scopes, &c.pieces) ?: proof_stacks(vm, &c.stacks);

    if (r < 0)
        return r;
    failed = names_failed(&c);
    if (!failed && !c.code.asked && compiles(vm))
        return HOTSPOT_NOT_READY;
    *ret_asked = c.names.asked + c.code.asked + c.scopes.asked;
    *ret_right = c.names.right + c.code.right + c.scopes.right;
    return failed ? proof_refuse(vm, failed, err) : 0;
}

/* Appends to the note that @what is switched off because check @c failed. */
static void tell_off(struct hotspot_vm *vm, const char *what, const struct check *c)
{
    char *note = vm->proof.note;
    size_t n = strlen(note);

    snprintf(note + n, sizeof(vm->proof.note) - n,
             "; %s are switched off: %s in %" PRIu32 " of %" PRIu32 " cases only", what, c->what,
             c->right, c->asked);
}

static int prove_objects(struct hotspot_vm *vm)
{
    struct check threads = { .what = "objects of threads lead back to them" },
                 monitors = { .what = "what threads wait for is an object" };
    int r = vm->layout.lacks[0] ? -ENOENT : proof_objects(vm, &threads, &monitors);
    size_t n = strlen(vm->proof.note);

    if (r == -ESRCH)
        return r;
    if (r == 0 && check_holds(&threads, THREADS_LEAST, PERCENT_MOST) &&
        check_holds(&monitors, THREADS_LEAST, PERCENT_MOST))
        return 0;
    vm->proof.objects_off = true;
    if (vm->layout.lacks[0])
        snprintf(vm->proof.note + n, sizeof(vm->proof.note) - n,
                 "; names of threads and locks are switched off: the JVM does not publish %s",
                 vm->layout.lacks);
    else
        tell_off(vm, "names of threads and locks",
                 check_holds(&threads, THREADS_LEAST, PERCENT_MOST) ? &monitors : &threads);
    return 0;
}

static int prove_allocation(struct hotspot_vm *vm)
{
    struct check sizes = { .what = "sizes of objects and buffers are valid" };
    int r = proof_allocation(vm, &sizes);

    if (r < 0 || check_holds(&sizes, THREADS_LEAST, PERCENT_MOST))
        return r;
    vm->proof.allocation_off = true;
    tell_off(vm, "allocations", &sizes);
    return 0;
}

static int prove(struct hotspot_vm *vm, struct error *err)
{
    uint32_t asked = 0, right = 0;
    int r;

    memory_begin(&vm->memory);
    r = prove_names(vm, err, &asked, &right);
    if (r != 0)
        return r;
    snprintf(vm->proof.note, sizeof(vm->proof.note),
             "JDK %d is %s; names were checked against the process (%" PRIu32 " of %" PRIu32 ")",
             vm->layout.jdk,
             vm->layout.jdk > layout_newest() ? "newer than this flamed" : "unknown to this flamed",
             right, asked);
    r = prove_objects(vm);
    return r == 0 ? prove_allocation(vm) : r;
}

int proof_run(struct hotspot_vm *vm, struct error *err)
{
    uint64_t refused = vm->memory.refused;
    int r = prove(vm, err);

    /* A read that was refused says nothing about the layout, but made a check fail. */
    if (vm->memory.refused != refused && r != -ESRCH &&
        (r != 0 || vm->proof.objects_off || vm->proof.allocation_off))
        return -EAGAIN;
    return r;
}
