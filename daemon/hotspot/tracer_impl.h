/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by resource.c, tracer.c, tracer_classes.c, tracer_keys.c and tracer_locals.c.
 * Thread: as hotspot_vm_context(). */
#pragma once

#include "hotspot/classes.h"
#include "unwind/context_path.h"

enum tracer_form {
    FORM_LOCAL,
    FORM_INHERITED,
    FORM_LOCAL_OF,
    FORM_STATIC, /* makes no step */
    FORM_HELD,
    FORM_MAP_KEYS, /* makes several steps, as does the next form */
    FORM_ARRAY_KEYS,
    FORM_REF,
    FORM_CLASS,
    FORM_NTH,
    FORM_WORD,
    FORM_TEXT,
    FORM_SKIP
};

/* Whether a path needs a class. */
enum class_need {
    CLASS_NEEDED,
    CLASS_MAY_LACK,   /* the class may never be loaded */
    CLASS_MAY_DIFFER, /* nor need a class of this name have the fields of the rows */
};

struct tracer_row {
    enum tracer_form form;
    uint8_t to, from, skip, number;
    enum class_need need;
    const char *class_name, *field, *signature; /* '@' stands for the tracer's prefix */
};

struct tracer {
    const char *name, *prefix;
    uint8_t ids;
    const struct tracer_row *rows;
    size_t count;
};

/* One question of a caller, which vm_call() copies. */
struct tracer_question {
    struct context_path path;
    uint32_t tracer; /* index in TRACERS */
    struct error err;
};

/* Classes of java.base; every path reads their fields. */
enum core_class {
    CORE_THREAD,
    CORE_MAP,
    CORE_ENTRY,
    CORE_REFERENCE,
    CORE_LOCAL,
    CORE_INHERITABLE,
    CORE_HASH_MAP,
    CORE_NODE,
    CORE_CLASSES
};
/* The compilation of one tracer's rows. */
struct compiler {
    struct hotspot_vm *vm;
    struct classes *classes; /* CORE classes, then those of the rows */
    const struct tracer *tracer;
    struct tracer_question *q;
    uint32_t hash; /* hash of the ThreadLocal that was found */
    bool found;
    unsigned entries; /* number of entries read so far */
    uint64_t held;    /* the object of the last FORM_STATIC */
};

/* ---- tracer_classes.c: classes of a tracer, by the fields that its rows name ---- */

/* Returns the wanted class for @name in the tracer's rows. NULL: there was no room for it. */
struct class_wanted *tracer_wanted(const struct compiler *c, const char *name);
/* Gets the class for @name in the rows. Of several classes with that name, takes the one with the
 * fields in the rows. Return: 0. -ENODATA: not loaded, and may never be. -EAGAIN: not loaded yet.
 * -EOPNOTSUPP with a sentence in c->q->err; -errno. */
int tracer_class(const struct compiler *c, const char *name, uint64_t *ret);
/* Gets the offset of the field of @row in @klass, by one of its names and signatures. */
int tracer_field(const struct compiler *c, uint64_t klass, const struct tracer_row *row,
                 uint32_t *ret);

/* ---- tracer.c ---- */

/* Returns how Shenandoah of JDK @jdk, release @version, notes copies of objects. In OpenJDK 11 it
 * exists since 11.0.9, in the newer form. Earlier builds of vendors are taken for the older one. */
enum context_forwards shenandoah_forwards(unsigned jdk, const char *version);

/* ---- resource.c ---- */

#define RESOURCE_CLASS "@io/opentelemetry/api/GlobalOpenTelemetry"
/* Reads the Resource of c->tracer, which is OpenTelemetry's, into c->vm->tracer. If the Resource
 * cannot be read, the old one stays. */
void resource_read(const struct compiler *c);

/* ---- tracer_keys.c: the keys of a log's context that stand for a request ---- */

/* Returns the kind of the ids: CONTEXT_IDS_KEYS if the configuration has keys, else
 * CONTEXT_IDS_LOG. */
uint8_t tracer_keys_kind(void);
/* Appends to @p the steps that read the values of all keys by @row, FORM_MAP_KEYS or
 * FORM_ARRAY_KEYS. @string: the class word of java.lang.String. Return: 0; -EOPNOTSUPP: HashMap has
 * unknown fields. */
int tracer_keys_add(const struct tracer_row *row, uint64_t string, struct context_path *p);

/* ---- tracer_locals.c: java.base, and the ThreadLocals that a path begins with ---- */

/* Adds the classes of java.base to the wanted ones. Returns a value >= 0, or -errno. */
int core_want(struct classes *classes);
/* Gets the offset of a field of java.base. Returns 0 or -errno. */
int core_field(const struct compiler *c, enum core_class class, const char *name,
               const char *signature, uint16_t *ret);
/* Sets the offsets in java.base that every path needs. Returns 0 or -errno. */
int core_compile(const struct compiler *c, struct context_path *p);
/* Gets the object in static field @row->field of @klass. Return: 0; -ENODATA: the field is null;
 * -EAGAIN: unreadable at this moment; -errno. */
int local_static_object(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                        uint64_t *ret);
/* Gets the hash of the ThreadLocal in a static field. Returns 0, or as local_static_object(). */
int local_static_hash(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                      uint32_t *ret);
/* Gets the hash of the ThreadLocal in field @row->field of c->held. Returns -ENOENT if that
 * ThreadLocal is not of class @klass. */
int local_held_hash(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                    uint32_t *ret);
/* Gets the hash of the only ThreadLocal of class @klass. Some thread must have a value for that
 * ThreadLocal. */
int local_only_hash(struct compiler *c, uint64_t klass, uint32_t *ret);
