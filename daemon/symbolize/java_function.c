/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/java_function.h"

#include "base/text.h"
#include "symbolize/java_text.h"

#define JAVA_TEXT_MAX ((size_t)16 << 10)

enum java_part { JAVA_CLASS, JAVA_SIGNATURE, JAVA_PLAIN };

static uint32_t java_string(struct frame_table *frames, enum java_part part, struct span raw)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(JAVA_TEXT_MAX);

    if (part == JAVA_CLASS)
        java_class_text(raw, &text);
    else if (part == JAVA_SIGNATURE)
        java_signature_text(raw, &text);
    else
        buf_add_span(&text, raw);
    return frame_table_clean(frames, buf_span(&text), TEXT_MODIFIED_UTF8);
}

uint32_t java_function_id(struct frame_table *frames, const struct java_function_text *text)
{
    struct function f = {
        .class_name = java_string(frames, JAVA_CLASS, text->class_name),
        .name = java_string(frames, JAVA_PLAIN, text->name),
        .signature = java_string(frames, JAVA_SIGNATURE, text->signature),
        .file = java_string(frames, JAVA_PLAIN, text->file),
    };
    uint32_t id = 0;

    frame_table_function(frames, &f, &id);
    return id;
}

uint32_t java_stub_id(struct frame_table *frames, struct span name)
{
    struct java_function_text text = { .name = name.n ? java_stub_text(name) : SPAN("[stub]") };

    return java_function_id(frames, &text);
}

uint32_t java_codelet_id(struct frame_table *frames, struct span name)
{
    _cleanup_buf_ struct buf whole = BUF_UPTO(JAVA_TEXT_MAX);

    buf_add_str(&whole, "Interpreter");
    if (name.n && !span_eq_str(name, "Interpreter")) {
        buf_add_str(&whole, " (");
        buf_add_span(&whole, name);
        buf_add_char(&whole, ')');
    }
    return java_function_id(frames, &(struct java_function_text){ .name = buf_span(&whole) });
}
