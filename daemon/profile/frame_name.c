/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/frame_name.h"

#include "profile/merged_names.h"

static struct span simple_class(struct span name)
{
    size_t dot = span_rfind(name, '.');

    return dot < name.n ? span_from(name, dot + 1) : name;
}

static const char *frame_suffix(enum frame_kind kind)
{
    switch (kind) {
    case FRAME_C2:
    case FRAME_JVMCI:
        return "_[j]";
    case FRAME_C1:
        return "_[1]";
    case FRAME_INLINED:
    case FRAME_NATIVE_INLINED:
        return "_[i]";
    case FRAME_INTERPRETED:
        return "_[0]";
    case FRAME_STUB:
        return "_[s]";
    case FRAME_KERNEL:
        return "_[k]";
    default:
        return "";
    }
}

void frame_name_spell(const struct profile *p, const struct view_opts *o, const struct frame *f,
                      struct buf *out)
{
    const struct function *fn = &p->functions[f->function];
    struct span name = intern_get(p->strings, fn->name);

    if (f->leaf == FRAME_LEAF_UNSURE)
        buf_add_str(out, "[inlined in ");
    if (fn->class_name) {
        struct span class_name = intern_get(p->strings, fn->class_name);

        if (o->names == VIEW_NAMES_MERGED)
            merged_class(class_name, out);
        else
            buf_add_span(out,
                         o->names == VIEW_NAMES_SIMPLE ? simple_class(class_name) : class_name);
        buf_add_char(out, '.');
    }
    if (name.n && fn->class_name && o->names == VIEW_NAMES_MERGED)
        merged_method(name, out);
    else if (name.n)
        buf_add_span(out, f->kind == FRAME_CLASS && o->names == VIEW_NAMES_SIMPLE
                              ? simple_class(name)
                              : name);
    else
        buf_add_str(out, "[unknown]");
    if (o->names == VIEW_NAMES_SIGNATURE && fn->signature)
        buf_add_span(out, intern_get(p->strings, fn->signature));
    if (f->leaf == FRAME_LEAF_UNSURE)
        buf_add_char(out, ']');
    if (o->lines && f->line)
        buf_printf(out, ":%u", f->line);
    if (o->annotate && f->leaf == FRAME_LEAF_INFERRED)
        buf_add_char(out, '~');
    if (o->annotate)
        buf_add_str(out, frame_suffix((enum frame_kind)f->kind));
}
