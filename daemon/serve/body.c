/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/body.h"

#include "serve/params/params.h"

#include "base/buf.h"

#include <jansson.h>

#define BODY_TEXT_MAX ((size_t)4 * BODY_MAX_BYTES)

/* Items under construction, as offsets, because their text still moves. */
struct body {
    struct buf text;
    size_t names[QUERY_ITEMS_MAX], values[QUERY_ITEMS_MAX], name_n[QUERY_ITEMS_MAX],
        value_n[QUERY_ITEMS_MAX];
    bool truths[QUERY_ITEMS_MAX];
    size_t count;
};

static int refuse_value(const char *name, struct error *err)
{
    char show[QUERY_SHOW_MAX];

    for (unsigned id = 0; id < PARAM_COUNT && err; id++) {
        if (strcmp(name, param_name((enum param_id)id)) == 0)
            err->parameter = param_name((enum param_id)id);
    }
    return error_set(err, -EINVAL,
                     "the value of '%s' is neither a text, a number, true, false nor a list of one "
                     "of these",
                     query_show(span_of(name), show));
}

/* Appends a scalar in the form of a query. False: @value is no scalar. */
static bool add_scalar(struct buf *b, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        buf_add(b, json_string_value(value), json_string_length(value));
        return true;
    case JSON_INTEGER:
        buf_printf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return true;
    case JSON_REAL:
        buf_printf(b, "%.15g", json_real_value(value));
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        buf_add_char(b, json_is_true(value) ? '1' : '0');
        return true;
    default:
        return false;
    }
}

/* Begins an item; the caller appends its value to b->text. */
static int begin_item(struct body *b, const char *name, struct error *err)
{
    if (b->count == QUERY_ITEMS_MAX)
        return error_set(err, -E2BIG, "a request takes at most %d parameters", QUERY_ITEMS_MAX);
    b->names[b->count] = b->text.n;
    b->name_n[b->count] = strlen(name);
    buf_add(&b->text, name, strlen(name) + 1);
    b->values[b->count] = b->text.n;
    return 0;
}

static void end_item(struct body *b)
{
    b->value_n[b->count] = b->text.n - b->values[b->count];
    buf_add(&b->text, "", 1);
    b->count++;
}

/* Adds a list: numbers, and texts of a parameter that takes a list, as one value; other texts as
 * one item each. */
static int add_list(struct body *b, const char *name, const json_t *list, struct error *err)
{
    bool numbers = json_is_number(json_array_get(list, 0)),
         joined = numbers || param_takes_list(name);
    const json_t *one;
    size_t i;
    int r = 0;

    if (json_array_size(list) == 0)
        return refuse_value(name, err);
    json_array_foreach(list, i, one)
    {
        if (json_is_number(one) != numbers || (!numbers && !json_is_string(one)))
            return refuse_value(name, err);
        if (!joined || i == 0)
            r = begin_item(b, name, err);
        else
            buf_add_char(&b->text, ',');
        if (r < 0)
            return r;
        add_scalar(&b->text, one);
        if (!joined)
            end_item(b);
    }
    if (joined)
        end_item(b);
    return 0;
}

static int add_member(struct body *b, const char *name, const json_t *value, struct error *err)
{
    int r;

    if (json_is_array(value))
        return add_list(b, name, value, err);
    r = begin_item(b, name, err);
    if (r < 0)
        return r;
    if (!add_scalar(&b->text, value))
        return refuse_value(name, err);
    b->truths[b->count] = json_is_boolean(value);
    end_item(b);
    return 0;
}

static int body_finish(struct body *b, struct query *ret, struct error *err)
{
    struct query q = { .count = b->count };
    size_t n;

    if (b->text.error)
        return b->text.error == -EFBIG ? error_set(err, -E2BIG, "the body is too large")
                                       : b->text.error;
    q.text = buf_take(&b->text, &n);
    if (!q.text)
        return -ENOMEM;
    for (size_t i = 0; i < b->count; i++)
        q.items[i] = (struct query_item){ .name = { q.text + b->names[i], b->name_n[i] },
                                          .value = { q.text + b->values[i], b->value_n[i] },
                                          .has_value = true,
                                          .truth = b->truths[i] };
    *ret = q;
    return 0;
}

int body_of_object(const json_t *object, struct query *ret, struct error *err)
{
    struct body b = { 0 };
    const char *name;
    json_t *value;
    int r = 0;

    buf_init(&b.text, BODY_TEXT_MAX);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        r = add_member(&b, name, value, err);
        if (r < 0)
            break;
    }
    if (r == 0)
        r = body_finish(&b, ret, err);
    buf_deinit(&b.text);
    return r;
}

int body_parse(struct span text, struct query *ret, struct error *err)
{
    json_error_t problem;
    json_t *object;
    int r = 0;

    text = span_trim(text);
    if (text.n > BODY_MAX_BYTES)
        return error_set(err, -E2BIG, "a body has at most %d bytes", BODY_MAX_BYTES);
    object = text.n ? json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &problem) : json_object();
    if (!json_is_object(object)) {
        char show[QUERY_SHOW_MAX];

        error_remedy(err, "send an object of parameters, such as {\"pid\": 4242, \"seconds\": 30}");
        if (object)
            r = error_set(err, -EINVAL, "the body is JSON, but no object");
        else
            r = error_set(err, -EINVAL, "the body is no JSON: %s at byte %d",
                          query_show(span_of(problem.text), show), problem.position);
        json_decref(object);
        return r;
    }
    r = body_of_object(object, ret, err);
    json_decref(object);
    return r;
}
