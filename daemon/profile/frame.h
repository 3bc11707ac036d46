/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named frames of stacks, and the table that gives each distinct frame a 32-bit id. Every layer may
 * include this file.
 */
#pragma once

#include "base/intern.h"
#include "base/shares.h"
#include "base/text.h"

/* render/ and web/ have tables in this order, which a test checks. */
enum frame_kind {
    FRAME_UNKNOWN,     /* without a name: "[unknown]", or module+offset */
    FRAME_C2,          /* Java, compiled by C2; also wrappers of native methods */
    FRAME_C1,          /* Java, compiled by C1 */
    FRAME_INLINED,     /* Java, inlined into the compiled frame below it (its caller) */
    FRAME_INTERPRETED, /* Java */
    FRAME_NATIVE,      /* C, C++, Rust, ... and perf-map entries of other runtimes */
    FRAME_JVM,         /* function of libjvm */
    FRAME_STUB, /* code that the JVM generated: stubs, adapters, the interpreter's own parts */
    FRAME_KERNEL,
    FRAME_THREAD,         /* synthetic: "[name tid=N]" */
    FRAME_PROCESS,        /* synthetic: "[name pid=N]" */
    FRAME_TRUNCATED,      /* synthetic: "[truncated]", "[...]" */
    FRAME_NATIVE_INLINED, /* native, inlined into the native frame below it (its caller) */
#define WAIT(id, name, words) FRAME_WAIT_##id, /* synthetic: "[lock]" */
#include "profile/waits.def"
#undef WAIT
    FRAME_CLASS,   /* not code: the Java class of the objects that its caller allocated */
    FRAME_JVMCI,   /* Java, compiled by a compiler that is a JVMCI library, such as Graal */
    FRAME_REQUEST, /* synthetic: "[GET /orders/{id}]", and other groups: "[blocked]" */
    FRAME_KIND_COUNT
};

/* Returns whether the frame is Java code, compiled or interpreted. */
static inline bool frame_kind_is_java(enum frame_kind k)
{
    return (k >= FRAME_C2 && k <= FRAME_INTERPRETED) || k == FRAME_JVMCI;
}

/* A file that code came from. */
struct module {
    uint32_t path;     /* interned; as the target sees it */
    uint32_t build_id; /* interned, lower-case hex, 0: none */
};

/* A function; equal ones share an id. All strings are interned and clean (base/text.h). */
struct function {
    uint32_t class_name; /* Java: "java.lang.Thread" with dots; 0 for other code */
    uint32_t name;       /* Java: method name; else the demangled symbol, or "libfoo.so+0x1a2b" */
    uint32_t signature;  /* Java: "(int, java.lang.String)"; 0 for other code */
    uint32_t file;       /* source file, 0: unknown */
    uint32_t module;     /* id in the module table, 0: none */
};

/* How the function of a compiled leaf frame was found. */
enum frame_leaf {
    FRAME_LEAF_RECORDED, /* recorded by the compiler */
    FRAME_LEAF_INFERRED, /* inferred from the loop that it runs in */
    FRAME_LEAF_UNSURE,   /* this function, or another one inlined there */
    FRAME_LEAF_COUNT
};

/* A frame: a function at a line, executed in one way. */
struct frame {
    uint32_t function;
    uint32_t line;   /* 0: unknown */
    uint8_t kind;    /* enum frame_kind */
    uint8_t unknown; /* 1: has no name; the name may be module+offset */
    uint8_t leaf;    /* enum frame_leaf */
    uint8_t zero;
};

/* A function with the route that was set for it. */
struct function_route {
    uint32_t function;
    uint32_t route; /* string, such as "GET /orders/{id}"; or FUNCTION_ROUTE_NONE */
};
/* A function without a route, or with a different one in different processes. */
#define FUNCTION_ROUTE_NONE UINT32_MAX

struct frame_table;

/* Creates a table. @max_entries limits modules, functions and frames each; @max_string_bytes limits
 * strings, and the memory that all owners share. 0 or -ENOMEM. */
int frame_table_new(size_t max_entries, size_t max_string_bytes, struct frame_table **ret);
/* Frees memory that only additions need. From then on, only strings may be added. */
void frame_table_seal(struct frame_table *t);
struct frame_table *frame_table_free(struct frame_table *t);

/* Counts the bytes of the table also in @whole; NULL: no longer. The table must be without entries,
 * or have been in @whole before. */
void frame_table_join(struct frame_table *t, struct shares *whole);
/* Charges new entries to the share of @owner (base/shares.h) from now on; 0: no owner, so only the
 * limits apply. */
void frame_table_charge(struct frame_table *t, uint64_t owner);
/* Returns the number of entries refused for lack of room in their owner's share. */
uint64_t frame_table_refused(const struct frame_table *t);

/* Find or add an entry. 0; -ENOSPC (limit or share) or -ENOMEM, and then @ret is the id of the
 * "[unknown]" frame, the nameless function or "". Thread: the engine's. */
int frame_table_string(struct frame_table *t, struct span clean, uint32_t *ret);
int frame_table_module(struct frame_table *t, const struct module *m, uint32_t *ret);
int frame_table_function(struct frame_table *t, const struct function *f, uint32_t *ret);
int frame_table_frame(struct frame_table *t, const struct frame *f, uint32_t *ret);
/* Sets the route of @function to the string @route, or to FUNCTION_ROUTE_NONE. @route 0: a string
 * that found no room. A function that gets a second, different route has no route from then on.
 * Without room for it, a first route stays unknown. */
void frame_table_set_route(struct frame_table *t, uint32_t function, uint32_t route);
/* Returns the id of @raw as clean text (base/text.h); 0: there was no room. */
uint32_t frame_table_clean(struct frame_table *t, struct span raw, enum text_encoding encoding);
/* Returns the id of the frame of @kind for a function with only a name, the clean @text. */
uint32_t frame_table_text(struct frame_table *t, struct span text, enum frame_kind kind);

/* Return the entry with an id. Entry 0 is nameless: frame 0 is "[unknown]" of kind FRAME_UNKNOWN.
 * Unknown ids return entry 0. */
const struct frame *frame_table_get(const struct frame_table *t, uint32_t frame);
const struct function *frame_table_get_function(const struct frame_table *t, uint32_t function);
const struct module *frame_table_get_module(const struct frame_table *t, uint32_t module);
/* Returns the route of a function as set; 0: unknown. */
uint32_t frame_table_get_route(const struct frame_table *t, uint32_t function);
/* Returns entry @i of the list of set routes, in the order of setting. A later entry for the same
 * function replaces an earlier one. */
const struct function_route *frame_table_get_set_route(const struct frame_table *t, uint32_t i);
struct span frame_table_get_string(const struct frame_table *t, uint32_t string);
size_t frame_table_bytes(const struct frame_table *t);
/* Returns the bytes of them that are charged to no owner: room to grow of a small table. */
size_t frame_table_uncharged(const struct frame_table *t);
/* Number of entries: ids are dense and in the order of addition. */
struct frame_table_counts {
    uint32_t strings, modules, functions, frames, routes;
};
void frame_table_counts(const struct frame_table *t, struct frame_table_counts *ret);
