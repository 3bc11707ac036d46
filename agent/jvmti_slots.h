/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few functions of the JVM Tool Interface and of JNI that the agent uses, by their numbers in
 * the specification. The numbers never change, so no JDK is needed to build the agent.
 * tests/unit/attach/test_attach.c compares each with a JDK's own jvmti.h and jvmticmlr.h, if there
 * is one.
 */
#pragma once

#include <stdint.h>

typedef void *jvmti_env; /* points to a pointer to the function table */
typedef void *jvmti_vm;  /* a JavaVM: also points to a pointer to a function table */
typedef void *jvmti_id;  /* jmethodID, jclass: opaque */

/* Functions: 1-based positions in the table. */
enum jvmti_slot {
    JVMTI_SET_EVENT_NOTIFICATION_MODE = 2,
    JVMTI_DEALLOCATE = 47,
    JVMTI_GET_CLASS_SIGNATURE = 48,
    JVMTI_GET_SOURCE_FILE_NAME = 50,
    JVMTI_GET_METHOD_NAME = 64,
    JVMTI_GET_METHOD_DECLARING_CLASS = 65,
    JVMTI_GET_LINE_NUMBER_TABLE = 70,
    JVMTI_SET_EVENT_CALLBACKS = 122,
    JVMTI_GENERATE_EVENTS = 123,
    JVMTI_DISPOSE_ENVIRONMENT = 127,
    JVMTI_ADD_CAPABILITIES = 142,
    JVMTI_RELINQUISH_CAPABILITIES = 143,
    JVMTI_SET_HEAP_SAMPLING_INTERVAL = 156, /* JDK 11 and up */
};

#define JVMTI_VM_GET_ENV 6 /* 0-based, in the JavaVM's table */

/* Functions of JNI: 0-based positions in the table, which never change. */
enum jni_slot {
    JNI_EXCEPTION_CLEAR = 17,
    JNI_NEW_WEAK_GLOBAL_REF = 226,
    JNI_DELETE_WEAK_GLOBAL_REF = 227,
};
#define JNI_VERSION_OF_JDK_8 0x00010008 /* JNI_VERSION_1_8 */
typedef void *jni_env;                  /* as jvmti_env */
typedef void *jni_ref;                  /* jobject, jweak: opaque */
#define JVMTI_VERSION_OF_JDK_8 0x30010200
#define JVMTI_ABSENT_INFORMATION 101 /* an error: the class has no line numbers */
#define JVMTI_ENABLE_EVENT 1
#define JVMTI_DISABLE_EVENT 0

enum jvmti_event {
    JVMTI_COMPILED_METHOD_LOAD = 68,
    JVMTI_COMPILED_METHOD_UNLOAD = 69,
    JVMTI_DYNAMIC_CODE_GENERATED = 70,
    JVMTI_SAMPLED_OBJECT_ALLOC = 86, /* JDK 11 and up */
};
#define JVMTI_EVENT_FIRST 50 /* the number of the first event in the table of callbacks */

/* Bits of the capabilities, 128 in all. HotSpot always has lines and file names ("always"
 * capabilities), so that requesting them does not change how code runs. */
#define JVMTI_CAP_SOURCE_FILE_NAME 11
#define JVMTI_CAP_LINE_NUMBERS 12
#define JVMTI_CAP_COMPILED_METHOD_LOAD 27
#define JVMTI_CAP_SAMPLED_OBJECT_ALLOC 43
#define JVMTI_ERROR_NOT_AVAILABLE 98 /* another agent has these capabilities */
struct jvmti_capabilities {
    uint32_t bits[4];
};

struct jvmti_line {
    int64_t start; /* bci */
    int32_t line;
};

/* The record that comes with a compiled method (jvmticmlr.h). */
#define JVMTI_CMLR_INLINE 2
struct jvmti_cmlr {
    int32_t kind, major, minor;
    const struct jvmti_cmlr *next;
};
struct jvmti_pc {
    void *pc;
    int32_t frame_count;
    const jvmti_id *methods; /* innermost first */
    const int32_t *bcis;
};
struct jvmti_inline {
    struct jvmti_cmlr header;
    int32_t pc_count;
    const struct jvmti_pc *pcs;
};

/* Returns function @slot of the table that @object points to. */
static inline void *jvmti_function(const void *object, int slot)
{
    return (*(void *const *const *)object)[slot - 1];
}

/* Returns function @slot of JNI. */
static inline void *jni_function(const jni_env *jni, enum jni_slot slot)
{
    return (*(void *const *const *)jni)[slot];
}
