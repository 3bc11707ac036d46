/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a capture as a column of the store. Pure; thread: any. */
#pragma once

#include "profile/profile.h"

/* Formats @p's events as JSON: [{"name":"cpu","unit":"nanoseconds","period":10101010,
 * "valued":false},...]; "" for a single event without values. Return: text that the caller frees,
 * NULL: no memory. */
char *events_format(const struct profile *p);
/* Parses the text of events_format() into meta->events. Return: 0 or -EBADMSG, which leaves them
 * unchanged. */
int events_parse(const char *text, struct profile *meta);
