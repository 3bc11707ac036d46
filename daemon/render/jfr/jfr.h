/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a JDK flight recording: numbers and strings, the events and types of flamed's
 * recordings, and the constant pools. Private to render/jfr/.
 *
 * A recording is one chunk: a header, events, a checkpoint event and a metadata event. The
 * checkpoint has the constant pools that the events refer to; the metadata describes every type.
 * All numbers in events are LEB128 of at most 9 bytes.
 */
#pragma once

#include "base/id_table.h"
#include "base/intern.h"
#include "render/formats.h"

/* Ids of types, chosen by flamed; the metadata event describes them. */
enum jfr_type {
    JFR_METADATA = 0,   /* fixed by the format */
    JFR_CHECKPOINT = 1, /* fixed by the format */
    JFR_BOOLEAN = 4,
    JFR_CHAR,
    JFR_FLOAT,
    JFR_DOUBLE,
    JFR_BYTE,
    JFR_SHORT,
    JFR_INT,
    JFR_LONG,
    JFR_STRING,
    JFR_CLASS,
    JFR_PACKAGE,
    JFR_THREAD,
    JFR_THREAD_GROUP,
    JFR_CLASS_LOADER,
    JFR_SYMBOL,
    JFR_THREAD_STATE,
    JFR_FRAME_TYPE,
    JFR_METHOD,
    JFR_STACK_FRAME,
    JFR_STACK_TRACE,
    JFR_LABEL,
    JFR_CATEGORY,
    JFR_DESCRIPTION,
    JFR_TIMESTAMP,
    JFR_TIMESPAN,
    JFR_DATA_AMOUNT,
    JFR_EXECUTION_SAMPLE = 100,
    JFR_ACTIVE_RECORDING,
    JFR_ACTIVE_SETTING,
    JFR_OS_INFORMATION,
    JFR_EVENT_SAMPLE,
    JFR_WALL_CLOCK_SAMPLE,
    JFR_ALLOCATION_SAMPLE,
    JFR_LIVE_OBJECT,
    JFR_MALLOC,
    JFR_MONITOR_ENTER,
    JFR_MONITOR_WAIT,
    JFR_THREAD_PARK,
    JFR_NATIVE_LOCK,
    JFR_SAFEPOINT_BEGIN,
    JFR_SAFEPOINT_END,
    JFR_GARBAGE_COLLECTION,
    JFR_GC_PHASE_PAUSE,
    JFR_EXECUTE_VM_OPERATION,
    JFR_COMPILATION,
    JFR_CLASS_LOAD,
    JFR_CLASS_UNLOAD,
    JFR_REQUEST,
};

/* Keys in the pool of thread states. */
enum jfr_state { JFR_STATE_DEFAULT = 1, JFR_STATE_RUNNABLE, JFR_STATE_SLEEPING };

#define JFR_STRING_BYTES_MAX ((size_t)256 << 20) /* limit of all names together, and of each */

/* Append a number or a string in the encoding of a recording. */
void jfr_add_number(struct buf *out, uint64_t v);
void jfr_add_string(struct buf *out, struct span s);
/* Appends the text of a constant of type JFR_SYMBOL: async-profiler's converter accepts no other
 * encoding, even for an empty text. */
void jfr_add_symbol(struct buf *out, struct span s);
/* Begins an event: writes room for its size, and its type. Returns the argument of jfr_end(), which
 * sets the size. For large events, up to 32 GiB. */
size_t jfr_begin(struct buf *out, enum jfr_type type);
void jfr_end(struct buf *out, size_t begin);
/* Begin and end events of at most 127 bytes: a dozen numbers. */
size_t jfr_begin_small(struct buf *out, enum jfr_type type);
void jfr_end_small(struct buf *out, size_t begin);

/* Appends the metadata event. */
int jfr_add_metadata(struct buf *out, uint64_t ticks);

/* Constants that events and frames refer to. The key of a constant in the recording is its index +
 * 1, except for threads. */
struct jfr_pools {
    const struct view *v;
    struct intern *symbols;
    struct id_table packages; /* uint32_t: symbol */
    struct id_table classes;  /* struct jfr_class */
    struct id_table methods;  /* struct jfr_method */
    /* Stacks: a text of 1 if the root is missing, else 0, then the shown frames, leaf first. Rows
     * that differ only in other frames, such as threads, share one stack. Keys are ids of these
     * texts. */
    struct intern *traces;
    uint32_t *trace_of_row;    /* [row_count] */
    uint32_t *object_of_row;   /* [row_count]: key of the leaf, if that is a class; 0: none */
    uint32_t *method_of_frame; /* [view->frame_count] */
    uint32_t *key_of_thread;   /* [profile->thread_count]: thread id, or a number above all ids */
};

struct jfr_class {
    uint32_t name, package; /* symbol of the name; key of the package, 0: none */
};

struct jfr_method {
    uint32_t class_id, name, descriptor; /* index in classes; two symbols */
};

/* 0 or -ENOMEM; jfr_pools_deinit() is needed in every case. */
int jfr_pools_init(struct jfr_pools *p, const struct view *v);
void jfr_pools_deinit(struct jfr_pools *p);
/* Add the class "java.util.HashMap", or the method "java.util.HashMap.get", without parameters.
 * *ret: its index; its key is the index + 1. 0 or -ENOMEM. */
int jfr_pools_class(struct jfr_pools *p, struct span name, uint32_t *ret);
int jfr_pools_method(struct jfr_pools *p, struct span name, uint32_t *ret);
/* Appends an event for each single moment of the profile. 0 or -ENOMEM. */
int jfr_add_moments(struct jfr_pools *pools, struct buf *out);
/* Appends an event for each stretch of samples that a thread spent in one span of a request. 0 or
 * -ENOMEM. */
int jfr_add_requests(const struct jfr_pools *pools, struct buf *out);
/* Appends the checkpoint event. */
void jfr_add_pools(const struct jfr_pools *p, uint64_t ticks, struct buf *out);
/* Appends a sample as events of the JDK or of async-profiler. @carry: remainder of a sample, by
 * event; zeros at first. Thread: any. */
void jfr_add_sample(const struct jfr_pools *pools, size_t i, uint64_t carry[PROFILE_EVENTS_MAX],
                    struct buf *out);
/* Returns the event type in which samples of event @i are written. */
enum jfr_type jfr_type_of_event(const struct view *v, uint32_t i);
/* Appends the name of a class, or "byte[]", in the spelling of class files. */
void jfr_add_class_name(struct buf *out, struct span name);
/* Returns the class of native code in the file @path: the file's name, or "kernel" for "[kernel]".
 * No name of a class begins with a bracket. */
struct span jfr_file_class(struct span path);
/* Appends a Java signature in the JVM's spelling: "(int, java.lang.String[])" is
 * "(I[Ljava/lang/String;)V". Profiles have no type of the result: it is always void. The output is
 * well formed for any input. */
void jfr_add_descriptor(struct buf *out, struct span signature);
