/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 with the usual alphabet (RFC 4648, section 4). Pure; thread: any. */
#pragma once

#include "base/span.h"

/* Decodes @in into @ret, which has room for @max bytes. Strict: the padding has to be there, and no
 * white space is allowed. Returns false if @in is empty, is not base64 or does not fit; then *ret
 * is undefined. */
bool base64_decode(struct span in, char *ret, size_t max, size_t *ret_n);
