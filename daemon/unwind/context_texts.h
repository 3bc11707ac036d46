/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps that fill in texts of a request: from objects of the heap, and from a thread's record.
 * A thread-local variable points to this record (OpenTelemetry's OTEP 4947). unwind/context_steps.h
 * includes this file at its end.
 */
#pragma once

#include "unwind/frames.h"

/* Appends a blank to the name, for a further part. @wide: that part has two bytes a character.
 * Returns where the part begins. Returns 0 if the part replaces the name, which is empty, full, or
 * has characters of another width. */
UNWIND_INLINE uint64_t context_behind(struct context_work *w, bool wide)
{
    uint64_t n = w->out.bytes[CONTEXT_NAME];
    bool was_wide = w->out.wide & (1U << CONTEXT_NAME);

    if (!n || n > CONTEXT_NAME_BYTES - 4 || was_wide != wide)
        return 0;
    UNWIND_MASK(n, CONTEXT_NAME_BYTES - 1);
    w->out.name[n] = ' ';
    if (wide)
        w->out.name[n + 1] = 0;
    return n + (wide ? 2 : 1);
}

/* Copies the @n bytes at @at, or as many as fit, to text @text of the result. Returns whether the
 * text has any bytes. Not static in BPF, as context_probe(). */
UNWIND_FUNCTION int context_text_at(struct context_work *w, uint32_t text, uint64_t at, uint64_t n,
                                    uint32_t wide)
{
    uint64_t start;
    bool good = false;

    if (!w)
        return 0;
    if (text == CONTEXT_TRACE) {
        n = n > 64 ? 64 : n;
        good = context_copy(w, &w->out.id[CONTEXT_TRACE_WORD], 64, at, n);
    } else if (text == CONTEXT_SPAN) {
        n = n > 32 ? 32 : n;
        good = context_copy(w, &w->out.id[CONTEXT_SPAN_WORD], 32, at, n);
    } else if (text == CONTEXT_ROOT) {
        n = n > 32 ? 32 : n;
        good = context_copy(w, &w->out.id[CONTEXT_ROOT_WORD], 32, at, n);
    } else {
        start = text == CONTEXT_NAME_MORE ? context_behind(w, wide) : 0;
        text = CONTEXT_NAME;
        if (start && !n)
            return 0;
        n = n > CONTEXT_NAME_BYTES - start ? CONTEXT_NAME_BYTES - start : n;
        good = context_copy(w, w->out.name + start, CONTEXT_NAME_BYTES, at, n);
        if (start && !good) /* the first part stays */
            return 0;
        n += start;
    }
    w->out.bytes[text & (CONTEXT_TEXTS - 1)] = good ? n : 0;
    if (wide)
        w->out.wide |= 1U << (text & (CONTEXT_TEXTS - 1));
    else
        w->out.wide &= ~(1U << (text & (CONTEXT_TEXTS - 1)));
    return good && n;
}

/* Copies the java.lang.String at @string to text @text of the result. Returns whether the text has
 * any bytes. */
UNWIND_FUNCTION int context_string(struct context_work *w, struct context_path *path,
                                   struct unwind_process *p, uint32_t text, uint64_t string)
{
    uint64_t array, n;
    bool wide = true;

    if (!w || !path || !p || !string)
        return 0;
    array = context_field(w, p, string + path->string_value);
    if (!array)
        return 0;
    n = context_load(w, array + path->array_length, 4);
    if (path->string_coder)
        wide = context_load(w, string + path->string_coder, 1) != 0;
    else
        n *= 2; /* an array of char */
    return context_text_at(w, text, array + path->bytes_base, n, wide);
}

/* ---- a thread's record ---- */

/* Returns the pointer in the thread-local variable of step @s; 0: the pointer is null, or the
 * thread has no data of that module yet. */
UNWIND_INLINE uint64_t context_variable(struct context_work *w, const struct context_step *s)
{
    uint64_t base = w->pointer;

    if (s->from) {
        base = context_load(w, base + UNWIND_DTV_AT, 8);
        base = context_load(w, base + (uint64_t)s->offset * s->from * 8, 8);
        if (!base || base == ~0ULL)
            return 0;
    }
    return context_load(w, base + s->key, 8);
}

/* Copies the ids of the record at @from to the result. Returns whether it is valid. Not static in
 * BPF, as context_probe(). */
UNWIND_FUNCTION int context_record(struct context_work *w, uint64_t from)
{
    struct context_record *r;

    if (!w)
        return 0;
    r = &w->record;
    if (!context_is_address(from) || !context_read_bytes(w, r, CONTEXT_RECORD_BYTES, from)) {
        w->fault = 1;
        return 0;
    }
    if (r->valid != CONTEXT_RECORD_VALID)
        return 0;
    w->out.id[CONTEXT_TRACE_WORD] = r->trace[0];
    w->out.id[CONTEXT_TRACE_WORD + 1] = r->trace[1];
    w->out.id[CONTEXT_SPAN_WORD] = r->span;
    return 1;
}

/* Passes one attribute of the record, at w->table, and stores its place if it is the wanted one.
 * Returns 1 at the end of the attributes. Not static in BPF, as context_probe(). */
UNWIND_FUNCTION int context_pass_attribute(struct context_work *w)
{
    uint16_t head = 0; /* index and length */
    uint32_t bytes;

    if (!w || w->count < 2)
        return 1;
    if (!context_is_address(w->table) || !context_read_bytes(w, &head, 2, w->table))
        w->fault = 1;
    bytes = head >> 8;
    if (w->fault || 2 + bytes > w->count)
        return 1;
    if ((head & 0xff) == w->want) {
        w->found = w->table + 2;
        w->nth = bytes;
    }
    w->table += 2 + bytes;
    w->count -= 2 + bytes;
    return 0;
}

/* Copies the last attribute with index @index of the record at @from to text @text. Not static in
 * BPF, as context_probe(). */
UNWIND_FUNCTION int context_attribute(struct context_work *w, uint64_t from, uint32_t index,
                                      uint32_t text)
{
    if (!w)
        return 0;
    w->found = 0;
    w->table = from + CONTEXT_RECORD_BYTES;
    w->want = index;
    w->count = w->record.attributes_bytes;
    UNWIND_LOOP
    for (uint32_t i = 0; i < CONTEXT_ATTRIBUTES_MAX; i++) {
        if (context_pass_attribute(w))
            break;
    }
    return w->found ? context_text_at(w, text, w->found, w->nth, 0) : 0;
}
