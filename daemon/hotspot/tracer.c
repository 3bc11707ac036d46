/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the rows of tracers.def for one VM. Finds the classes of each loaded tracer, checks
 * every field of its rows against the class's own description, and makes a path of steps for the
 * BPF programs. A mismatch with the rows gives no path.
 */
#include "base/list.h"
#include "hotspot/classes.h"
#include "unwind/context_path.h"

#define FIELD_TEXT_MAX 256         /* names of a field, and its signatures */
#define THREAD_ENTRIES_MAX 200000u /* of all threads, read to find a ThreadLocal */

enum tracer_form {
    FORM_LOCAL,
    FORM_INHERITED,
    FORM_LOCAL_OF,
    FORM_STATIC, /* makes no step */
    FORM_HELD,
    FORM_KEY,
    FORM_REF,
    FORM_CLASS,
    FORM_NTH,
    FORM_WORD,
    FORM_TEXT,
    FORM_SKIP
};

struct tracer_row {
    enum tracer_form form;
    uint8_t to, from, skip, number;
    bool optional;                              /* its class may never be loaded */
    const char *class_name, *field, *signature; /* '@': the tracer's prefix. Of FORM_KEY the field
                                                 * is the key */
};

#define LOCAL(to, class, field)                                                                    \
    { FORM_LOCAL, to, 0, 0, 0, false, class, field, "Ljava/lang/ThreadLocal;" },
#define LOCAL_OR(to, skip, class, field)                                                           \
    { FORM_LOCAL, to, 0, skip, 0, true, class, field, "Ljava/lang/ThreadLocal;" },
#define INHERITED(to, class, field)                                                                \
    { FORM_INHERITED, to, 0, 0, 0, true, class, field, "Ljava/lang/InheritableThreadLocal;" },
#define STATIC(class, field, signature) { FORM_STATIC, 0, 0, 0, 0, false, class, field, signature },
#define HELD(to, class, field)                                                                     \
    { FORM_HELD, to, 0, 0, 0, false, class, field, "Ljava/lang/ThreadLocal;" },
#define KEY(to, from, skip, key) { FORM_KEY, to, from, skip, 0, false, NULL, key, NULL },
#define LOCAL_OF(to, class) { FORM_LOCAL_OF, to, 0, 0, 0, false, class, NULL, NULL },
#define REF(to, from, class, field, signature)                                                     \
    { FORM_REF, to, from, 0, 0, false, class, field, signature },
#define IS(from, class) { FORM_CLASS, 0, from, 0, 0, false, class, NULL, NULL },
#define MAY_BE(from, skip, class) { FORM_CLASS, 0, from, skip, 0, true, class, NULL, NULL },
#define NTH(to, from, index, class) { FORM_NTH, to, from, 0, index, false, class, NULL, NULL },
#define WORD(word, from, class, field) { FORM_WORD, 0, from, 0, word, false, class, field, "J" },
#define TEXT(text, from) { FORM_TEXT, 0, from, 0, text, false, NULL, NULL, NULL },
#define SKIP(rows) { FORM_SKIP, 0, 0, rows, 0, false, NULL, NULL, NULL },
#define TRACER_ROWS(id) static const struct tracer_row id##_ROWS[] = {
#define TRACER_END                                                                                 \
    }                                                                                              \
    ;
#include "hotspot/tracers.def"

struct tracer {
    const char *name, *prefix;
    uint8_t ids;
    const struct tracer_row *rows;
    size_t count;
};

/* Logs come last, and count only where no other is loaded. */
static const struct tracer TRACERS[] = {
#define TRACER(name, prefix, ids, id)                                                              \
    {                                                                                              \
        name, prefix, ids, id##_ROWS, ARRAY_SIZE(id##_ROWS)                                        \
    }
    TRACER("OpenTelemetry's Java agent", "io/opentelemetry/javaagent/shaded/", CONTEXT_IDS_HEX,
           OPENTELEMETRY),
    TRACER("OpenTelemetry's SDK", "", CONTEXT_IDS_HEX, OPENTELEMETRY),
    TRACER("Datadog's Java agent", "", CONTEXT_IDS_WORDS, DATADOG),
    TRACER("SkyWalking's Java agent", "", CONTEXT_IDS_NONE, SKYWALKING),
    TRACER("Brave", "", CONTEXT_IDS_WORDS, BRAVE),
    TRACER("Logback's MDC", "", CONTEXT_IDS_LOG, LOGBACK),
    TRACER("Log4j's ThreadContext", "", CONTEXT_IDS_LOG, LOG4J_CONTEXT),
};

/* One question, copied by vm_call(). */
struct tracer_question {
    struct context_path path;
    uint32_t tracer; /* index in TRACERS */
    struct error err;
};

/* Classes of java.base with fields that every path passes. */
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
static const char *const CORE[CORE_CLASSES] = {
    "java/lang/Thread",
    "java/lang/ThreadLocal$ThreadLocalMap",
    "java/lang/ThreadLocal$ThreadLocalMap$Entry",
    "java/lang/ref/Reference",
    "java/lang/ThreadLocal",
    "java/lang/InheritableThreadLocal",
    "java/util/HashMap",
    "java/util/HashMap$Node",
};

struct compiler {
    struct hotspot_vm *vm;
    struct classes *classes; /* CORE, then those of the rows */
    const struct tracer *tracer;
    struct tracer_question *q;
    uint32_t hash; /* of the ThreadLocal found */
    bool found;
    unsigned entries; /* read so far */
    uint64_t held;    /* the object of the last FORM_STATIC */
};

/* Replaces '@' in @text by the tracer's prefix. Returns false if the result is too long. */
static bool spell(const struct tracer *t, const char *text, char *ret, size_t cap)
{
    const char *at = strchr(text, '@');
    int n = at ? snprintf(ret, cap, "%.*s%s%s", (int)(at - text), text, t->prefix, at + 1)
               : snprintf(ret, cap, "%s", text);

    return n >= 0 && (size_t)n < cap;
}

/* Returns the wanted class for @name of the tracer's rows; NULL: it did not fit. */
static struct class_wanted *wanted_class(const struct compiler *c, const char *name)
{
    char spelled[CLASSES_NAME_MAX];
    int i = spell(c->tracer, name, spelled, sizeof(spelled)) ? classes_want(c->classes, spelled)
                                                             : -ENOSPC;

    return i < 0 ? NULL : &c->classes->wanted[i];
}

/* Gets the offset of the field of @row in @klass, by one of its names and signatures. */
static int find_field(const struct compiler *c, uint64_t klass, const struct tracer_row *row,
                      uint32_t *ret)
{
    bool is_static =
        row->form == FORM_LOCAL || row->form == FORM_INHERITED || row->form == FORM_STATIC;
    char signatures[FIELD_TEXT_MAX], name[FIELD_TEXT_MAX], signature[FIELD_TEXT_MAX];
    const struct field_wanted f = { .name = name, .signature = signature, .is_static = is_static };
    struct span names = span_of(row->field), types, one, type = SPAN_NULL;
    int r = -ENOENT;

    if (!spell(c->tracer, row->signature, signatures, sizeof(signatures)))
        return -ENOSPC;
    types = span_of(signatures);
    while (r == -ENOENT && span_take_until(&names, '|', &one)) {
        span_take_until(&types, '|', &type); /* the last one stands for the rest */
        span_copy(one, name, sizeof(name));
        span_copy(type, signature, sizeof(signature));
        r = field_find(c->vm, klass, &f, ret);
    }
    return r;
}

/* Returns whether @klass has all fields that the tracer's rows name for class @name. 1; 0;
 * -errno. */
static int has_fields(const struct compiler *c, const char *name, uint64_t klass)
{
    uint32_t offset;
    int r;

    for (size_t i = 0; i < c->tracer->count; i++) {
        const struct tracer_row *row = &c->tracer->rows[i];

        if (!row->field || !row->class_name || strcmp(row->class_name, name) != 0)
            continue;
        r = find_field(c, klass, row, &offset);
        if (r < 0)
            return r == -ENOENT || r == -EBADMSG ? 0 : r;
    }
    return 1;
}

/* Returns whether a row allows that class @name is never loaded. */
static bool is_optional(const struct tracer *t, const char *name)
{
    return ANY_OF(i, t->count, t->rows[i].optional && strcmp(t->rows[i].class_name, name) == 0);
}

/* Gets the class for @name of the rows: of several classes with that name, the one with the fields
 * in the rows. 0; -ENODATA: not loaded, and may never be; -EAGAIN: not loaded yet; -EOPNOTSUPP with
 * a sentence in c->q->err; -errno. */
static int pick_class(const struct compiler *c, const char *name, uint64_t *ret)
{
    const struct class_wanted *w = wanted_class(c, name);

    if (!w)
        return -ENOSPC;
    for (unsigned i = 0; i < w->count; i++) {
        int r = has_fields(c, name, w->klasses[i]);

        if (r < 0)
            return r;
        if (r > 0) {
            *ret = w->klasses[i];
            return 0;
        }
    }
    if (w->count)
        return error_set(&c->q->err, -EOPNOTSUPP,
                         "its class %s has not the fields that flamed knows of", w->name);
    return is_optional(c->tracer, name) ? -ENODATA : -EAGAIN;
}

/* Returns the class word of objects of @klass. */
static uint64_t class_word(const struct hotspot_vm *vm, uint64_t klass)
{
    const struct name_layout *n = &vm->names;

    return n->compact_headers || n->compressed_klass ? (klass - n->klass_base) >> n->klass_shift
                                                     : klass;
}

/* ---- java.base ---- */

static int core_field(const struct compiler *c, enum core_class class, const char *name,
                      const char *signature, uint16_t *ret)
{
    const struct class_wanted *w = &c->classes->wanted[class];
    const struct field_wanted f = { .name = name, .signature = signature };
    uint32_t offset = 0;
    int r = w->count ? field_find(c->vm, w->klasses[0], &f, &offset) : -ENOENT;

    *ret = (uint16_t)offset;
    return r;
}

/* Sets the offsets in java.base that every path needs. 0 or -errno. */
static int compile_core(const struct compiler *c, struct context_path *p)
{
    const struct name_layout *n = &c->vm->names;
    uint16_t header = n->compact_headers ? 8 : n->compressed_klass ? 12 : 16, data = header + 4;
    bool aligned = c->vm->layout.jdk < 23;
    int r = core_field(c, CORE_THREAD, "threadLocals", "Ljava/lang/ThreadLocal$ThreadLocalMap;",
                       &p->thread_locals) ?:
            core_field(c, CORE_MAP, "table", "[Ljava/lang/ThreadLocal$ThreadLocalMap$Entry;",
                       &p->table) ?:
            core_field(c, CORE_ENTRY, "value", "Ljava/lang/Object;", &p->entry_value) ?:
            core_field(c, CORE_REFERENCE, "referent", "Ljava/lang/Object;", &p->referent) ?:
            core_field(c, CORE_LOCAL, "threadLocalHashCode", "I", &p->hash);

    if (core_field(c, CORE_HASH_MAP, "table", "[Ljava/util/HashMap$Node;", &p->map_table) < 0 ||
        core_field(c, CORE_NODE, "hash", "I", &p->node_hash) < 0 ||
        core_field(c, CORE_NODE, "value", "Ljava/lang/Object;", &p->node_value) < 0 ||
        core_field(c, CORE_NODE, "next", "Ljava/util/HashMap$Node;", &p->node_next) < 0)
        p->map_table = 0;
    p->array_length = header;
    p->bytes_base = aligned ? (data + 7) & ~7 : data;
    p->array_base = aligned || !n->compressed_oops ? (data + 7) & ~7 : data;
    p->string_value = (uint16_t)n->string_value;
    p->string_coder = (uint16_t)n->string_coder;
    p->mark_shift = n->compact_headers ? (uint8_t)n->mark_shift : 0;
    return r;
}

/* ---- ThreadLocals ---- */

/* Gets the hash of the ThreadLocal at @object, of class @klass. 0; -EAGAIN: it moved; -errno. */
static int read_hash(const struct compiler *c, uint64_t object, uint64_t klass, uint32_t *ret)
{
    uint64_t before = 0, after = 0;
    int r = object_klass(c->vm, object, &before) ?:
            memory_u32(&c->vm->memory, object + c->q->path.hash, ret) ?:
            object_klass(c->vm, object, &after);

    return r == 0 && (before != klass || after != klass) ? -EAGAIN : r;
}

/* Returns whether the reference at @at is null. heap_load() fails so for a moving object, too. */
static bool is_null(struct hotspot_vm *vm, uint64_t at)
{
    uint64_t raw = 0;
    int r = memory_number(&vm->memory, at, heap_reference_bytes(vm), &raw);

    return r == 0 && !(vm->names.coloured_oops ? oop_uncolour(raw) : raw);
}

/* Gets the object in static field @row->field of @klass. 0; -ENODATA: null; -EAGAIN: unreadable
 * at this moment; -errno. */
static int static_object(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                         uint64_t *ret)
{
    const struct hotspot_layout *l = &c->vm->layout;
    uint64_t mirror = 0;
    uint32_t offset;
    int r = layout_has(l->klass_mirror) ? find_field(c, klass, row, &offset) : -EOPNOTSUPP;

    if (r == 0)
        r = field_u64(c->vm, klass, l->klass_mirror, &mirror);
    if (r == 0 && l->jdk >= 10)
        r = heap_handle(c->vm, mirror, &mirror);
    if (r == 0)
        r = is_null(c->vm, mirror + offset) ? -ENODATA : heap_load(c->vm, mirror + offset, ret);
    return r == -ENOENT || r == -EFAULT ? -EAGAIN : r;
}

/* Gets the hash of the ThreadLocal in a static field. 0 or as static_object(). */
static int static_hash(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                       uint32_t *ret)
{
    enum core_class class = row->form == FORM_INHERITED ? CORE_INHERITABLE : CORE_LOCAL;
    const struct class_wanted *w = &c->classes->wanted[class];
    uint64_t object = 0;
    int r = w->count ? static_object(c, row, klass, &object) : -EAGAIN;

    if (r == 0)
        r = read_hash(c, object, w->klasses[0], ret);
    return r == -ENOENT || r == -EFAULT ? -EAGAIN : r;
}

/* Gets the hash of the ThreadLocal in field @row->field of c->held. -ENOENT: that is of another
 * class than @klass. */
static int held_hash(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                     uint32_t *ret)
{
    uint64_t of = 0, object = 0;
    uint32_t offset = 0;
    int r = object_klass(c->vm, c->held, &of);

    if (r == 0 && of != klass)
        return -ENOENT;
    if (r == 0)
        r = find_field(c, klass, row, &offset);
    if (r == 0)
        r = heap_load(c->vm, c->held + offset, &object);
    if (r == 0)
        r = read_hash(c, object, c->classes->wanted[CORE_LOCAL].klasses[0], ret);
    return r == -ENOENT || r == -EFAULT ? -EAGAIN : r;
}

/* Searches the table of one thread for a ThreadLocal of the class in steps[0].key. */
static int look_at_thread(void *cookie, uint64_t thread)
{
    struct compiler *c = cookie;
    struct hotspot_vm *vm = c->vm;
    const struct context_path *p = &c->q->path;
    uint64_t at = 0, entry = 0, key = 0, klass = 0, wanted = c->q->path.steps[0].key;
    uint32_t length = 0, bytes = vm->names.compressed_oops ? 4 : 8;
    int r = thread_java_object(vm, thread, &at) ?: heap_load(vm, at + p->thread_locals, &at) ?:
            heap_load(vm, at + p->table, &at) ?:
            memory_u32(&vm->memory, at + p->array_length, &length);

    length = r == 0 && length <= CONTEXT_TABLE_MAX ? length : 0;
    for (uint32_t i = 0; i < length && c->entries < THREAD_ENTRIES_MAX; i++) {
        c->entries++;
        if (heap_load(vm, at + p->array_base + (uint64_t)i * bytes, &entry) < 0 ||
            heap_load(vm, entry + p->referent, &key) < 0 || object_klass(vm, key, &klass) < 0 ||
            klass != wanted)
            continue;
        c->found = read_hash(c, key, klass, &c->hash) == 0;
        if (c->found)
            return 1;
    }
    return r == -ESRCH ? r : 0;
}

/* Gets the hash of the only ThreadLocal of class @klass; some thread must have a value for it. */
static int only_hash(struct compiler *c, uint64_t klass, uint32_t *ret)
{
    int r;

    c->q->path.steps[0].key = klass;
    c->found = false;
    r = threads_visit(c->vm, look_at_thread, c);
    *ret = c->hash;
    return r < 0 ? r : c->found ? 0 : -EAGAIN;
}

/* ---- rows ---- */

/* Returns String.hashCode() of @key, which is ASCII. */
static uint32_t hash_of(const char *key)
{
    uint32_t hash = 0;

    for (; *key; key++)
        hash = 31 * hash + (unsigned char)*key;
    return hash;
}

/* Makes a step from @row, with its class @klass (0: none). */
static int compile_row(struct compiler *c, const struct tracer_row *row, uint64_t klass,
                       struct context_step *ret)
{
    static const uint8_t OPS[] = { [FORM_LOCAL] = CONTEXT_THREAD_LOCAL,
                                   [FORM_INHERITED] = CONTEXT_THREAD_LOCAL,
                                   [FORM_STATIC] = CONTEXT_SKIP,
                                   [FORM_HELD] = CONTEXT_THREAD_LOCAL,
                                   [FORM_KEY] = CONTEXT_MAP,
                                   [FORM_LOCAL_OF] = CONTEXT_THREAD_LOCAL,
                                   [FORM_REF] = CONTEXT_REF,
                                   [FORM_CLASS] = CONTEXT_CLASS,
                                   [FORM_NTH] = CONTEXT_NTH,
                                   [FORM_WORD] = CONTEXT_WORD,
                                   [FORM_TEXT] = CONTEXT_TEXT,
                                   [FORM_SKIP] = CONTEXT_SKIP };
    struct context_step s = {
        .op = OPS[row->form], .to = row->to, .from = row->from, .skip = row->skip
    };
    uint16_t member = 0;
    uint32_t hash = 0;
    int r = 0;

    switch (row->form) {
    case FORM_INHERITED:
        r = core_field(c, CORE_THREAD, "inheritableThreadLocals",
                       "Ljava/lang/ThreadLocal$ThreadLocalMap;", &member);
        s.offset = member;
        if (r < 0)
            break;
        /* fall through */
    case FORM_LOCAL:
        r = static_hash(c, row, klass, &hash);
        s.key = hash;
        if (r == -ENODATA && row->optional) { /* the class is not in use */
            s = (struct context_step){ .op = CONTEXT_SKIP, .skip = row->skip };
            r = 0;
        }
        break;
    case FORM_STATIC:
        r = static_object(c, row, klass, &c->held);
        break;
    case FORM_HELD:
        r = held_hash(c, row, klass, &hash);
        s.key = hash;
        break;
    case FORM_KEY:
        s.key = hash_of(row->field);
        r = c->q->path.map_table ? 0 : -EOPNOTSUPP;
        break;
    case FORM_LOCAL_OF:
        r = only_hash(c, klass, &hash);
        s.key = hash;
        break;
    case FORM_REF:
        r = find_field(c, klass, row, &s.offset);
        break;
    case FORM_WORD:
        r = find_field(c, klass, row, &s.offset);
        s.key = row->number;
        break;
    case FORM_NTH:
        s.offset = row->number;
        s.key = class_word(c->vm, klass);
        break;
    case FORM_CLASS:
        s.key = class_word(c->vm, klass);
        break;
    case FORM_TEXT:
        s.key = row->number;
        break;
    case FORM_SKIP:
        break;
    }
    *ret = s;
    return r == -ENODATA ? -EAGAIN : r;
}

/* Compiles all rows of c->tracer. 0 or as pick_class(). */
static int compile_rows(struct compiler *c)
{
    struct context_path *p = &c->q->path;
    int r = compile_core(c, p);

    p->ids = c->tracer->ids;
    p->at_leave = c->vm->names.zgc;
    for (size_t i = 0; i < c->tracer->count && r == 0; i++) {
        const struct tracer_row *row = &c->tracer->rows[i];
        struct context_step s = { .op = CONTEXT_SKIP, .skip = row->skip };
        uint64_t klass = 0;

        r = row->class_name ? pick_class(c, row->class_name, &klass) : 0;
        if (r == 0)
            r = compile_row(c, row, klass, &s);
        else if (r == -ENODATA) /* no object is of that class */
            r = 0;
        if (row->form != FORM_STATIC)
            p->steps[p->step_count++] = s;
    }
    if (r == 0 && !ANY_OF(i, p->step_count, p->steps[i].op == CONTEXT_THREAD_LOCAL))
        r = -EAGAIN; /* no ThreadLocal is in use */
    if (r == 0 && !context_path_valid(p))
        r = error_set(&c->q->err, -EOPNOTSUPP, "its fields lie too far apart");
    return r;
}

/* Adds the classes of all tracers to the wanted ones. */
static int want_classes(struct compiler *c)
{
    int r = 0;

    for (unsigned i = 0; i < CORE_CLASSES && r >= 0; i++)
        r = classes_want(c->classes, CORE[i]);
    for (size_t t = 0; t < ARRAY_SIZE(TRACERS) && r >= 0; t++) {
        c->tracer = &TRACERS[t];
        for (size_t i = 0; i < c->tracer->count && r >= 0; i++) {
            const char *name = c->tracer->rows[i].class_name;

            r = !name || wanted_class(c, name) ? 0 : -ENOSPC;
        }
    }
    return MIN(r, 0);
}

/* Compiles for the first tracer that succeeds, but not for the context of a log beside a tracer
 * that is loaded. If none succeeds, returns the error of the first tracer that is loaded. A log's
 * context counts as no tracer then: a library may keep it in another way, or not at all. */
static int compile(struct compiler *c)
{
    int r = want_classes(c), result = -ENOENT;

    memory_begin(&c->vm->memory);
    if (r == 0)
        r = classes_find(c->vm, c->classes);
    for (size_t t = 0; t < ARRAY_SIZE(TRACERS) && r == 0; t++) {
        const struct class_wanted *first;
        int k;

        c->tracer = &TRACERS[t];
        first = wanted_class(c, c->tracer->rows[0].class_name);
        if (!first || !first->count || (c->tracer->ids == CONTEXT_IDS_LOG && result != -ENOENT))
            continue;
        c->q->path = (struct context_path){ 0 };
        c->q->tracer = (uint32_t)t;
        k = compile_rows(c);
        if (k == 0)
            return 0;
        if (c->tracer->ids == CONTEXT_IDS_LOG && k != -ESRCH) {
            c->q->err = (struct error)ERROR_NULL;
            k = -ENOENT;
        }
        if (result == -ENOENT || k == -ESRCH)
            result = k;
    }
    return r < 0 ? r : result;
}

static int run_tracer(struct hotspot_vm *vm, void *arg)
{
    _cleanup_free_ struct classes *classes = calloc(1, sizeof(*classes));
    struct compiler c = { .vm = vm, .classes = classes, .q = arg };

    return classes ? compile(&c) : -ENOMEM;
}

int hotspot_vm_context(struct hotspot_vm *vm, struct context_path *ret, const char **ret_tracer,
                       struct error *err)
{
    _cleanup_free_ struct tracer_question *q = calloc(1, sizeof(*q));
    int r;

    if (!q)
        return -ENOMEM;
    if (vm_is_left(vm))
        return -EAGAIN;
    r = names_ready(vm) ?: vm_call(vm, run_tracer, q, sizeof(*q));
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    *ret_tracer = r == -ENOENT ? "" : TRACERS[q->tracer].name;
    if (r == -EOPNOTSUPP && err)
        *err = q->err;
    if (r == -EFAULT || r == -ETIMEDOUT || r == -EBADMSG)
        r = -EAGAIN; /* classes or objects were freed during the read */
    if (r == 0)
        *ret = q->path;
    return r;
}
