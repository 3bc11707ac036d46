/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the rows of tracers.def for one VM. Finds the classes of each loaded tracer, checks
 * every field of its rows against the class's own description, and makes a path of steps for the
 * BPF programs. A mismatch with the rows gives no path.
 */
#include "hotspot/tracer_impl.h"

#include "base/list.h"
#include "base/span.h"

#define LOCAL(to, class, field)                                                                    \
    { FORM_LOCAL, to, 0, 0, 0, CLASS_NEEDED, class, field, "Ljava/lang/ThreadLocal;" },
#define LOCAL_OR(to, skip, class, field)                                                           \
    { FORM_LOCAL, to, 0, skip, 0, CLASS_MAY_LACK, class, field, "Ljava/lang/ThreadLocal;" },
#define INHERITED(to, class, field)                                                                \
    { FORM_INHERITED,                                                                              \
      to,                                                                                          \
      0,                                                                                           \
      0,                                                                                           \
      0,                                                                                           \
      CLASS_MAY_LACK,                                                                              \
      class,                                                                                       \
      field,                                                                                       \
      "Ljava/lang/InheritableThreadLocal;" },
#define STATIC(class, field, signature)                                                            \
    { FORM_STATIC, 0, 0, 0, 0, CLASS_NEEDED, class, field, signature },
#define HELD(to, class, field)                                                                     \
    { FORM_HELD, to, 0, 0, 0, CLASS_NEEDED, class, field, "Ljava/lang/ThreadLocal;" },
#define MAP_KEYS(from)                                                                             \
    { FORM_MAP_KEYS, 0, from, 0, from, CLASS_NEEDED, "java/lang/String", NULL, NULL },
#define ARRAY_KEYS(keys, values)                                                                   \
    { FORM_ARRAY_KEYS, 0, keys, 0, values, CLASS_NEEDED, "java/lang/String", NULL, NULL },
#define LOCAL_OF(to, class) { FORM_LOCAL_OF, to, 0, 0, 0, CLASS_NEEDED, class, NULL, NULL },
#define REF(to, from, class, field, signature)                                                     \
    { FORM_REF, to, from, 0, 0, CLASS_NEEDED, class, field, signature },
#define IS(from, class) { FORM_CLASS, 0, from, 0, 0, CLASS_NEEDED, class, NULL, NULL },
#define MAY_BE(from, skip, class)                                                                  \
    { FORM_CLASS, 0, from, skip, 0, CLASS_MAY_LACK, class, NULL, NULL },
#define NTH(to, from, skip, index, class)                                                          \
    { FORM_NTH, to, from, skip, index, CLASS_MAY_LACK, class, NULL, NULL },
#define NTH_IF(to, from, skip, index, class)                                                       \
    { FORM_NTH, to, from, skip, index, CLASS_MAY_DIFFER, class, NULL, NULL },
#define WORD(word, from, class, field)                                                             \
    { FORM_WORD, 0, from, 0, word, CLASS_NEEDED, class, field, "J" },
#define TEXT(text, from) { FORM_TEXT, 0, from, 0, text, CLASS_NEEDED, NULL, NULL, NULL },
#define MORE(from) TEXT(CONTEXT_NAME_MORE, from)
#define SKIP(rows) { FORM_SKIP, 0, 0, rows, 0, CLASS_NEEDED, NULL, NULL, NULL },
#define TRACER_ROWS(id) static const struct tracer_row id##_ROWS[] = {
#define TRACER_END                                                                                 \
    }                                                                                              \
    ;
#include "hotspot/tracers.def"

/* The contexts of logs come last, and count only if no other tracer is loaded. */
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
    TRACER("Log4j's ThreadContext", "", CONTEXT_IDS_LOG, LOG4J_SORTED),
    TRACER("Log4j's ThreadContext", "", CONTEXT_IDS_LOG, LOG4J_ARRAY),
};

/* Makes a step from @row, with its class @klass (0: none). */
static int compile_row(struct compiler *c, const struct tracer_row *row, uint64_t klass,
                       struct context_step *ret)
{
    static const uint8_t OPS[] = { [FORM_LOCAL] = CONTEXT_THREAD_LOCAL,
                                   [FORM_INHERITED] = CONTEXT_THREAD_LOCAL,
                                   [FORM_STATIC] = CONTEXT_SKIP,
                                   [FORM_HELD] = CONTEXT_THREAD_LOCAL,
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
        r = local_static_hash(c, row, klass, &hash);
        s.key = hash;
        if (r == -ENODATA && row->need != CLASS_NEEDED) { /* the class is not loaded */
            s = (struct context_step){ .op = CONTEXT_SKIP, .skip = row->skip };
            r = 0;
        }
        break;
    case FORM_STATIC:
        r = local_static_object(c, row, klass, &c->held);
        break;
    case FORM_HELD:
        r = local_held_hash(c, row, klass, &hash);
        s.key = hash;
        break;
    case FORM_MAP_KEYS:
    case FORM_ARRAY_KEYS: /* by tracer_keys_add() */
    case FORM_LOCAL_OF:
        r = local_only_hash(c, klass, &hash);
        s.key = hash;
        break;
    case FORM_REF:
        r = tracer_field(c, klass, row, &s.offset);
        break;
    case FORM_WORD:
        r = tracer_field(c, klass, row, &s.offset);
        s.key = row->number;
        break;
    case FORM_NTH:
        s.offset = row->number;
        s.key = vm_class_word(c->vm, klass);
        break;
    case FORM_CLASS:
        s.key = vm_class_word(c->vm, klass);
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

/* Stores whether the class of an array's values is loaded. If not, the program may load it
 * later. */
static void note_missing(const struct tracer_row *row, bool loaded, unsigned *missing,
                         unsigned *may_differ)
{
    if (row->form == FORM_NTH && row->need == CLASS_MAY_DIFFER)
        *may_differ |= 1u << loaded;
    else if (row->form == FORM_NTH && !loaded)
        (*missing)++;
}

enum context_forwards shenandoah_forwards(unsigned jdk, const char *version)
{
    struct span s = span_of(version);
    uint64_t update = 0;

    if (span_take_str(&s, "11.0.") && span_take_dec(&s, &update) && update >= 9)
        return CONTEXT_FORWARDS_MARK;
    return jdk < 13 ? CONTEXT_FORWARDS_WORD : CONTEXT_FORWARDS_MARK;
}

/* Sets where @p finds that objects move while no thread runs Java. Return: as pauses_find(). */
static int pauses_of_threads(struct hotspot_vm *vm, struct context_path *p)
{
    const struct hotspot_layout *l = &vm->layout;

    if (l->state_java > 0 && l->state_java <= UINT16_MAX && l->thread_state.offset > 0 &&
        l->thread_state.offset <= UINT16_MAX) {
        p->thread_state = (uint16_t)l->thread_state.offset;
        p->in_java = (uint16_t)l->state_java;
    }
    return pauses_find(vm, &p->pauses);
}

/* Compiles all rows of c->tracer. Return: 0; 1: the VM may load further classes later; or as
 * tracer_class(). */
static int compile_rows(struct compiler *c)
{
    struct context_path *p = &c->q->path;
    unsigned missing = 0, may_differ = 0;
    int r = core_compile(c, p);

    p->ids = c->tracer->ids == CONTEXT_IDS_LOG ? tracer_keys_kind() : c->tracer->ids;
    p->moves = c->vm->names.zgc;
    if (!p->moves && r == 0) {
        r = pauses_of_threads(c->vm, p);
        if (r == -ENOENT)
            r = error_set(&c->q->err, -EOPNOTSUPP, "its VM does not say when it moves objects");
    }
    if (c->vm->names.shenandoah)
        p->forwards = shenandoah_forwards((unsigned)c->vm->layout.jdk, c->vm->version);
    for (size_t i = 0; i < c->tracer->count && r == 0; i++) {
        const struct tracer_row *row = &c->tracer->rows[i];
        struct context_step s = { .op = CONTEXT_SKIP, .skip = row->skip };
        uint64_t klass = 0;

        r = row->class_name ? tracer_class(c, row->class_name, &klass) : 0;
        note_missing(row, r == 0, &missing, &may_differ);
        if (r == 0 && (row->form == FORM_MAP_KEYS || row->form == FORM_ARRAY_KEYS)) {
            r = tracer_keys_add(row, vm_class_word(c->vm, klass), p);
            continue;
        }
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
    return r < 0 ? r : missing || may_differ == 1;
}

/* Returns whether a VM with tracer @t may have a Resource of OpenTelemetry. */
static bool has_resource(const struct tracer *t)
{
    return t->rows == OPENTELEMETRY_ROWS;
}

/* Adds the classes of all tracers to the wanted ones. */
static int want_classes(struct compiler *c)
{
    int r = core_want(c->classes);

    for (size_t t = 0; t < ARRAY_SIZE(TRACERS) && r >= 0; t++) {
        c->tracer = &TRACERS[t];
        for (size_t i = 0; i < c->tracer->count && r >= 0; i++) {
            const char *name = c->tracer->rows[i].class_name;

            r = !name || tracer_wanted(c, name) ? 0 : -ENOSPC;
        }
        if (r >= 0 && has_resource(c->tracer))
            r = tracer_wanted(c, RESOURCE_CLASS) ? 0 : -ENOSPC;
    }
    return MIN(r, 0);
}

/* Compiles the path for the first tracer that succeeds. A log's context is skipped if a tracer is
 * loaded. If none succeeds, returns the error of the first loaded tracer. A log's context then
 * counts as no tracer, for now (-ENODATA) or for good (-ENOENT), as a library may keep it in
 * another way or not at all. -EAGAIN: not all classes could be read. */
static int compile(struct compiler *c)
{
    int r = want_classes(c), result = -ENOENT;
    bool later = false;

    memory_begin(&c->vm->memory);
    if (r == 0)
        r = classes_find(c->vm, c->classes);
    for (size_t t = 0; t < ARRAY_SIZE(TRACERS) && r == 0; t++) {
        const struct class_wanted *first;
        int k;

        c->tracer = &TRACERS[t];
        first = tracer_wanted(c, c->tracer->rows[0].class_name);
        if (!first || !first->count || (c->tracer->ids == CONTEXT_IDS_LOG && result != -ENOENT))
            continue;
        c->q->path = (struct context_path){ 0 };
        c->q->tracer = (uint32_t)t;
        if (has_resource(c->tracer))
            resource_read(c);
        k = compile_rows(c);
        if (k >= 0)
            return k;
        if (c->tracer->ids == CONTEXT_IDS_LOG && k != -ESRCH) {
            c->q->err = (struct error)ERROR_NULL;
            later |= k != -EOPNOTSUPP;
            k = -ENOENT;
        }
        if (result == -ENOENT || k == -ESRCH)
            result = k;
    }
    if (r == 0 && result == -ENOENT)
        return c->classes->partial ? -EAGAIN : later ? -ENODATA : -ENOENT;
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
    *ret_tracer = r == -ENOENT || r == -ENODATA ? "" : TRACERS[q->tracer].name;
    if (r == -EOPNOTSUPP && err)
        *err = q->err;
    if (r == -EFAULT || r == -ETIMEDOUT || r == -EBADMSG)
        r = -EAGAIN; /* classes or objects were freed during the read */
    if (r >= 0)
        *ret = q->path;
    return r;
}
