/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata event of a recording: a table of strings and a tree of elements. Names and
 * attributes of elements are indexes in that table. The tree describes the types of jfr_types.c.
 */
#include "base/cleanup.h"
#include "render/jfr/jfr_types.h"

#define METADATA_BYTES_MAX ((size_t)1 << 20)

struct metadata {
    struct intern *strings;
    struct buf tree;
    int error;
};

static void add_text(struct metadata *m, const char *s)
{
    uint32_t id = 0;
    int r = intern_add(m->strings, span_of(s), &id);

    if (r < 0 && m->error == 0)
        m->error = -ENOMEM;
    jfr_add_number(&m->tree, id);
}

static void add_attribute(struct metadata *m, const char *key, const char *value)
{
    add_text(m, key);
    add_text(m, value);
}

static void add_id(struct metadata *m, const char *key, enum jfr_type id)
{
    char text[12];

    snprintf(text, sizeof(text), "%d", (int)id);
    add_attribute(m, key, text);
}

static void add_element(struct metadata *m, const char *name, unsigned attributes)
{
    add_text(m, name);
    jfr_add_number(&m->tree, attributes);
}

/* An annotation with one value, without children. */
static void add_annotation(struct metadata *m, enum jfr_type type, const char *value)
{
    add_element(m, "annotation", 2);
    add_id(m, "class", type);
    add_attribute(m, "value", value);
    jfr_add_number(&m->tree, 0);
}

static void add_field(struct metadata *m, const struct jfr_field *f)
{
    add_element(m, "field", 2 + (f->flags != 0));
    add_attribute(m, "name", f->name);
    add_id(m, "class", f->type);
    if (f->flags & FIELD_POOL)
        add_attribute(m, "constantPool", "true");
    else if (f->flags & FIELD_ARRAY)
        add_attribute(m, "dimension", "1");
    jfr_add_number(&m->tree, (f->label != NULL) + (f->unit_value != NULL));
    if (f->label)
        add_annotation(m, JFR_LABEL, f->label);
    if (f->unit_value)
        add_annotation(m, f->unit, f->unit_value);
}

static void add_category(struct metadata *m, const struct jfr_type_info *t)
{
    add_element(m, "annotation", t->category[1] ? 3 : 2);
    add_id(m, "class", JFR_CATEGORY);
    add_attribute(m, "value-0", t->category[0]);
    if (t->category[1])
        add_attribute(m, "value-1", t->category[1]);
    jfr_add_number(&m->tree, 0);
}

static void add_type(struct metadata *m, const struct jfr_type_info *t)
{
    unsigned fields = 0;

    while (fields < JFR_FIELDS_MAX && t->fields[fields].name)
        fields++;
    add_element(m, "class", 2 + (t->super != NULL) + t->simple);
    add_attribute(m, "name", t->name);
    add_id(m, "id", t->id);
    if (t->super)
        add_attribute(m, "superType", t->super);
    if (t->simple)
        add_attribute(m, "simpleType", "true");
    jfr_add_number(&m->tree, fields + (t->label != NULL) + (t->category[0] != NULL) +
                                 (t->description != NULL));
    for (unsigned i = 0; i < fields; i++)
        add_field(m, &t->fields[i]);
    if (t->label)
        add_annotation(m, JFR_LABEL, t->label);
    if (t->category[0])
        add_category(m, t);
    if (t->description)
        add_annotation(m, JFR_DESCRIPTION, t->description);
}

static void add_tree(struct metadata *m)
{
    add_element(m, "root", 0);
    jfr_add_number(&m->tree, 2);
    add_element(m, "metadata", 0);
    jfr_add_number(&m->tree, JFR_TYPE_COUNT);
    for (size_t i = 0; i < JFR_TYPE_COUNT; i++)
        add_type(m, &JFR_TYPES[i]);
    add_element(m, "region", 3);
    add_attribute(m, "locale", "en");
    add_attribute(m, "gmtOffset", "0"); /* times are UTC, as everywhere in flamed */
    add_attribute(m, "dst", "0");
    jfr_add_number(&m->tree, 0);
}

static void metadata_deinit(struct metadata *m)
{
    intern_free(m->strings);
    buf_deinit(&m->tree);
}

int jfr_add_metadata(struct buf *out, uint64_t ticks)
{
    _cleanup_(metadata_deinit) struct metadata m = { 0 };
    size_t begin;

    buf_init(&m.tree, METADATA_BYTES_MAX);
    if (intern_new(METADATA_BYTES_MAX, &m.strings) < 0)
        return -ENOMEM;
    add_tree(&m);
    if (m.error || m.tree.error)
        return -ENOMEM;
    begin = jfr_begin(out, JFR_METADATA);
    jfr_add_number(out, ticks);
    jfr_add_number(out, 0); /* duration */
    jfr_add_number(out, 1); /* id of this metadata */
    jfr_add_number(out, intern_count(m.strings));
    for (uint32_t i = 0; i < intern_count(m.strings); i++)
        jfr_add_string(out, intern_get(m.strings, i));
    buf_add_span(out, buf_span(&m.tree));
    jfr_end(out, begin);
    return 0;
}
