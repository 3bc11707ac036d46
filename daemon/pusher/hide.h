/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets in what an engine answers, which flamed shows. Pure; thread: any. */
#pragma once

#include "push/pusher_abi.h"

#define HIDE_BYTES_MIN 4 /* a shorter secret is in too many words */
#define HIDE_SECRETS_MAX 64

/* Copies the printable part of @text, with "[hidden]" in the place of each secret of @words.
 * Secrets are a password and the values of headers, also as base64 of basic authorization. @words
 * are those of PUSHER_TARGET, and an empty word ends them. NULL: there are none. */
void hide_copy(const char *words, struct span text, char to[PUSHER_TEXT_BYTES]);
