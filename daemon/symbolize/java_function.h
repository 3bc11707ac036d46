/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Java method as a function of the frame table. A method has the same function whether its name
 * came from memory or from an agent. Thread: the frame table's.
 */
#pragma once

#include "profile/frame.h"

/* Raw modified UTF-8 in the JVM's internal forms ("java/lang/Thread", "(I)V"). */
struct java_function_text {
    struct span class_name, name, signature, file;
};

/* Returns the id of the function; 0 if there is no room. */
uint32_t java_function_id(struct frame_table *frames, const struct java_function_text *text);
/* Does the same for a stub, or for a part of the interpreter ("Interpreter (iload)"). */
uint32_t java_stub_id(struct frame_table *frames, struct span name);
uint32_t java_codelet_id(struct frame_table *frames, struct span name);
