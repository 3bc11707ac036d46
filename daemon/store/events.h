/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a capture as a column of the store. Pure; thread: any. */
#pragma once

#include "profile/profile.h"

/* Formats @p's events as JSON: [{"name":"cpu","unit":"nanoseconds","period":10101010,
 * "valued":false},...]; "" where there is but one, without values of its own. Return: text that the
 * caller frees, NULL where there is no memory. */
char *events_format(const struct profile *p);
/* Reads what events_format() wrote into meta->events. Return: 0 or -EBADMSG; then they are as they
 * were. */
int events_parse(const char *text, struct profile *meta);
