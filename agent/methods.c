/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers methods for flamed, and asks the JVM for the names of each: once for each version. */
#include "agent/session.h"

#define PROBES_MAX 1024u /* slots tried for one method; a few suffice at three quarters full */
#define LINES_MAX 4096   /* lines of one method */
#define ASKED_MAX 1024u  /* methods of one load that are compared; dozens were seen */

static void release(jvmti_env *env, void *p)
{
    int32_t (*f)(jvmti_env *, void *) = jvmti_function(env, JVMTI_DEALLOCATE);

    if (p)
        f(env, p);
}

/* The names that the JVM gives for a method; NULL: none. */
struct names {
    char *class_name, *name, *signature, *file;
    struct jvmti_line *lines;
    int32_t line_count;
};

/* Returns 0 or the JVM's error; then there are no lines. */
static int32_t lines_get(jvmti_env *env, jvmti_id method, struct names *n)
{
    int32_t (*get)(jvmti_env *, jvmti_id, int32_t *, struct jvmti_line **) =
        jvmti_function(env, JVMTI_GET_LINE_NUMBER_TABLE);
    int32_t error = get(env, method, &n->line_count, &n->lines);

    if (error != 0 || n->line_count < 0) {
        n->lines = NULL;
        n->line_count = 0;
    }
    if (n->line_count > LINES_MAX)
        n->line_count = LINES_MAX;
    return error;
}

/* Returns a hash of the lines. */
static uint16_t lines_hash(const struct names *n)
{
    uint32_t hash = (uint32_t)n->line_count;

    for (int32_t i = 0; i < n->line_count; i++) {
        hash = (hash ^ (uint32_t)n->lines[i].start) * UINT32_C(0x9e3779b1);
        hash = (hash ^ (uint32_t)n->lines[i].line) * UINT32_C(0x85ebca6b);
    }
    return (uint16_t)(hash >> 16);
}

static void names_get(jvmti_env *env, jvmti_id method, struct names *n)
{
    int32_t (*get_name)(jvmti_env *, jvmti_id, char **, char **, char **) =
        jvmti_function(env, JVMTI_GET_METHOD_NAME);
    int32_t (*get_class)(jvmti_env *, jvmti_id, jvmti_id *) =
        jvmti_function(env, JVMTI_GET_METHOD_DECLARING_CLASS);
    int32_t (*get_signature)(jvmti_env *, jvmti_id, char **, char **) =
        jvmti_function(env, JVMTI_GET_CLASS_SIGNATURE);
    int32_t (*get_file)(jvmti_env *, jvmti_id, char **) =
        jvmti_function(env, JVMTI_GET_SOURCE_FILE_NAME);
    jvmti_id class_id = NULL;

    memset(n, 0, sizeof(*n));
    if (get_name(env, method, &n->name, &n->signature, NULL) != 0)
        n->name = n->signature = NULL;
    if (get_class(env, method, &class_id) == 0) {
        if (get_signature(env, class_id, &n->class_name, NULL) != 0)
            n->class_name = NULL;
        if (get_file(env, class_id, &n->file) != 0)
            n->file = NULL;
    }
    lines_get(env, method, n);
}

static void names_release(jvmti_env *env, struct names *n)
{
    release(env, n->class_name);
    release(env, n->name);
    release(env, n->signature);
    release(env, n->file);
    release(env, n->lines);
}

/* Writes the record of a method. Returns 1 if there was room, with the hash of its lines. */
static int write_method(jvmti_env *env, jvmti_id method, uint32_t id, uint64_t time_ns,
                        uint16_t *ret_lines)
{
    struct names n;
    struct stream_method *m;
    uint16_t class_n, name_n, signature_n, file_n;
    uint32_t strings, lines, bytes;

    names_get(env, method, &n);
    class_n = length(n.class_name);
    name_n = length(n.name);
    signature_n = length(n.signature);
    file_n = length(n.file);
    strings = round_up((uint32_t)class_n + name_n + signature_n + file_n, 4);
    lines = (uint32_t)n.line_count;
    bytes = round_up((uint32_t)(sizeof(*m) + strings + lines * sizeof(struct stream_line)), 8);
    m = reserve(bytes, STREAM_METHOD, 0, time_ns);
    if (m) {
        char *p = (char *)(m + 1);
        struct stream_line *l = (struct stream_line *)(p + strings);

        m->id = id;
        m->class_n = class_n;
        m->name_n = name_n;
        m->signature_n = signature_n;
        m->file_n = file_n;
        m->line_count = lines;
        p = put(p, n.class_name, class_n);
        p = put(p, n.name, name_n);
        p = put(p, n.signature, signature_n);
        put(p, n.file, file_n);
        for (uint32_t i = 0; i < lines; i++) {
            l[i].bci = (uint32_t)n.lines[i].start;
            l[i].line = (uint32_t)n.lines[i].line;
        }
        commit(bytes);
        *ret_lines = lines_hash(&n);
    }
    names_release(env, &n);
    return m != NULL;
}

/* Returns the slot of a method, or the free slot where it belongs. NULL: the table is full. */
static struct slot *find(jvmti_id method)
{
    uint64_t key = (uint64_t)(uintptr_t)method;
    uint32_t at = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40);

    for (uint32_t i = 0; i < PROBES_MAX; i++) {
        struct slot *s = &session.table[(at + i) & (STREAM_TABLE_SLOTS - 1)];

        if (s->method == key || !s->method)
            return s;
    }
    return NULL;
}

/* Returns the cache entry for a method. Events mostly repeat the same few methods. */
static struct slot *recent(jvmti_id method)
{
    return &session.recent[((uintptr_t)method >> 3) & (RECENT_METHODS - 1)];
}

uint32_t known(jvmti_id method)
{
    const struct slot *s = recent(method);

    if (!method)
        return 0;
    if (s->method != (uint64_t)(uintptr_t)method)
        s = find(method);
    return s && s->method ? s->id : 0;
}

/* Returns whether the method has other line numbers than when it was named. Asks the JVM once a
 * load, and not for code that was compiled before the session began. A failed question, as for a
 * class that was just unloaded, changes nothing. */
static int is_changed(jvmti_env *env, jvmti_id method, struct slot *s)
{
    struct names n;
    int32_t error;
    int changed;

    if (s->load == (uint16_t)session.loads)
        return 0;
    s->load = (uint16_t)session.loads;
    if (session.header->state != STREAM_STREAMING || session.asked == ASKED_MAX)
        return 0;
    session.asked++;
    memset(&n, 0, sizeof(n));
    error = lines_get(env, method, &n);
    changed = (error == 0 || error == JVMTI_ABSENT_INFORMATION) && lines_hash(&n) != s->lines;
    release(env, n.lines);
    return changed;
}

void introduce(jvmti_env *env, jvmti_id method, uint64_t time_ns)
{
    uint64_t key = (uint64_t)(uintptr_t)method;
    struct slot *s = recent(method);

    if (!method || (s->method == key && s->load == (uint16_t)session.loads))
        return;
    s = find(method);
    if (!s)
        return;
    if (!s->method || is_changed(env, method, s)) {
        if (session.method_count >= STREAM_METHODS_MAX) {
            session.header->dropped++;
            return;
        }
        if (!write_method(env, method, session.method_count + 1, time_ns, &s->lines))
            return;
        s->id = ++session.method_count;
        s->load = (uint16_t)session.loads;
        s->method = key;
    }
    *recent(method) = *s;
}
