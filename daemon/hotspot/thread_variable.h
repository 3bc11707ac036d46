/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the thread-local variable of a tracer lies in each thread: otel_thread_ctx_v1, which points
 * to the thread's record (OpenTelemetry's OTEP 4947). Thread: as hotspot.h.
 */
#pragma once

#include "hotspot/hotspot.h"

#define THREAD_VARIABLE_OBJECTS_MAX 512 /* files mapped into a process that are searched */

struct thread_variable {
    uint64_t offset; /* may be negative */
    uint32_t module; /* of the dynamic linker */
    uint8_t words;   /* of an entry in the thread's table of modules; 0: the offset is one from the
                      * thread pointer */
};

/* Where files are mapped from their beginning. */
struct thread_variable_objects {
    uint64_t bases[THREAD_VARIABLE_OBJECTS_MAX];
    uint32_t count;
    bool musl; /* its C library is musl */
};

/* Finds the variable in one of @objects: the first that exports it. 0; -ENOENT: none does. -EAGAIN:
 * not yet, or unreadable at this moment; -EOPNOTSUPP: one does, in a way that flamed does not know.
 * HOTSPOT_GONE; -errno. */
int hotspot_vm_thread_variable(struct hotspot_vm *vm, const struct thread_variable_objects *objects,
                               struct thread_variable *ret);

#define THREAD_RECORD_TEXTS_MAX 5

/* How to read a thread's record: where it is, and what its attributes mean. */
struct thread_record {
    bool known;      /* the process has announced records of a known form */
    bool there;      /* the variable was found, too */
    uint32_t number; /* another after each change */
    struct thread_variable variable;
    uint32_t text_count;
    struct thread_record_text {
        uint8_t index; /* of the attribute */
        uint8_t text;  /* that it fills: enum context_text, or CONTEXT_NAME_MORE */
    } texts[THREAD_RECORD_TEXTS_MAX];
};

/* Returns what is known of the records of this VM's threads; the engine keeps it. */
struct thread_record *hotspot_vm_record(struct hotspot_vm *vm);
/* Makes the path to a thread's request by its record, which is there. Pure. */
void thread_record_path(const struct thread_record *record, struct context_path *ret);
