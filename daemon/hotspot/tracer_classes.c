/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/tracer_impl.h"

#include "base/list.h"

#define FIELD_TEXT_MAX 256 /* names of a field, and its signatures */

/* Replaces '@' in @text by the tracer's prefix. Returns false if the result is too long. */
static bool spell(const struct tracer *t, const char *text, char *ret, size_t cap)
{
    const char *at = strchr(text, '@');
    int n = at ? snprintf(ret, cap, "%.*s%s%s", (int)(at - text), text, t->prefix, at + 1)
               : snprintf(ret, cap, "%s", text);

    return n >= 0 && (size_t)n < cap;
}

struct class_wanted *tracer_wanted(const struct compiler *c, const char *name)
{
    char spelled[CLASSES_NAME_MAX];
    int i = spell(c->tracer, name, spelled, sizeof(spelled)) ? classes_want(c->classes, spelled)
                                                             : -ENOSPC;

    return i < 0 ? NULL : &c->classes->wanted[i];
}

int tracer_field(const struct compiler *c, uint64_t klass, const struct tracer_row *row,
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
        span_take_until(&types, '|', &type); /* the last type stands for all further ones */
        span_copy(one, name, sizeof(name));
        span_copy(type, signature, sizeof(signature));
        r = field_find(c->vm, klass, &f, ret);
    }
    return r;
}

/* Returns whether @klass has all fields that the tracer's rows name for class @name. Return: 1; 0;
 * -errno. */
static int has_fields(const struct compiler *c, const char *name, uint64_t klass)
{
    uint32_t offset;
    int r;

    for (size_t i = 0; i < c->tracer->count; i++) {
        const struct tracer_row *row = &c->tracer->rows[i];

        if (!row->field || !row->class_name || strcmp(row->class_name, name) != 0)
            continue;
        r = tracer_field(c, klass, row, &offset);
        if (r < 0)
            return r == -ENOENT || r == -EBADMSG ? 0 : r;
    }
    return 1;
}

/* Returns whether the rows of @t need class @name: the least need of its rows. */
static enum class_need need_of(const struct tracer *t, const char *name)
{
    enum class_need need = CLASS_NEEDED;

    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].need > need && strcmp(t->rows[i].class_name, name) == 0)
            need = t->rows[i].need;
    }
    return need;
}

int tracer_class(const struct compiler *c, const char *name, uint64_t *ret)
{
    const struct class_wanted *w = tracer_wanted(c, name);
    enum class_need need = need_of(c->tracer, name);

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
    if (w->count && need != CLASS_MAY_DIFFER)
        return error_set(&c->q->err, -EOPNOTSUPP,
                         "its class %s has not the fields that flamed knows of", w->name);
    return need != CLASS_NEEDED ? -ENODATA : -EAGAIN;
}
