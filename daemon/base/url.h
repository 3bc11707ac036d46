/* SPDX-License-Identifier: Apache-2.0 */
/* Text as a part of a URL. Pure; thread: any. */
#pragma once

#include "base/buf.h"

/* Appends @text and escapes all characters but letters, digits, "-", ".", "_" and "~". */
void url_add_escaped(struct buf *out, struct span text);
