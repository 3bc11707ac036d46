/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a tracer's thread-local variable otel_thread_ctx_v1 is in each thread. The variable
 * points to the thread's record (OpenTelemetry's OTEP 4947). Thread: as in hotspot.h.
 */
#pragma once

#include "hotspot/hotspot.h"

#define THREAD_VARIABLE_OBJECTS_MAX 512 /* files of a process that are searched */

struct thread_variable {
    uint64_t offset; /* may be negative */
    uint32_t module; /* number of the module, by the dynamic linker */
    uint8_t words;   /* of an entry in the thread's table of modules; 0: @offset is from the thread
                        pointer */
};

/* Addresses where files are mapped from their beginning. */
struct thread_variable_objects {
    uint64_t bases[THREAD_VARIABLE_OBJECTS_MAX];
    uint32_t count;
    bool musl; /* the C library of the process is musl */
};

/* Finds the variable in the first of @objects that exports it. Return: 0. -ENOENT: none exports it.
 * -EAGAIN: not yet, or unreadable at this moment. -EOPNOTSUPP: an object exports it in a way that
 * flamed does not know. HOTSPOT_GONE; -errno. */
int hotspot_vm_thread_variable(struct hotspot_vm *vm, const struct thread_variable_objects *objects,
                               struct thread_variable *ret);

#define THREAD_RECORD_TEXTS_MAX 5

/* How to read a thread's record: where the record is, and what its attributes mean. */
struct thread_record {
    bool known;      /* the process has announced records of a known form */
    bool there;      /* the variable was found, too */
    uint32_t number; /* changes with each change of the record's description */
    struct thread_variable variable;
    uint32_t text_count;
    struct thread_record_text {
        uint8_t index; /* index of the attribute */
        uint8_t text;  /* which text it fills: enum context_text, or CONTEXT_NAME_MORE */
    } texts[THREAD_RECORD_TEXTS_MAX];
};

/* Returns the description of the records of this VM's threads. The engine fills it in. */
struct thread_record *hotspot_vm_record(struct hotspot_vm *vm);
/* Makes the path to a thread's request by its record. record->there must be true. Pure. */
void thread_record_path(const struct thread_record *record, struct context_path *ret);
