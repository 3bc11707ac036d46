/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the operations of requests by the stack alone, if no tracer names them. An operation is the
 * method of the application that a framework calls to handle a request (handlers.def). Pure;
 * thread: any, one at a time for a struct.
 */
#pragma once

#include "base/buf.h"
#include "base/text.h"
#include "profile/profile.h"

#define HANDLERS_OWN_MAX 32 /* dispatchers of the configuration */
#define HANDLERS_NAME_BYTES 512
#define HANDLERS_TEXT_MAX ((size_t)2 * TEXT_NAME_MAX + 8) /* bytes of an operation's name */

struct handlers;

/* 0 or -ENOMEM. @p is borrowed. */
int handlers_new(const struct profile *p, struct handlers **ret);
struct handlers *handlers_free(struct handlers *h);
static inline void handlers_freep(struct handlers **h)
{
    handlers_free(*h);
}
/* Returns the function that handles the request of @s; 0: not found, or a tracer names the
 * request. */
uint32_t handlers_of(struct handlers *h, const struct profile_sample *s);
/* Appends the operation's name: the function's route, "GET /orders/{id}", else its name,
 * "shop.OrderController.get()". The suffix "()" sets it apart from names of tracers.
 * HANDLERS_TEXT_MAX bytes suffice. */
void handlers_name(const struct handlers *h, uint32_t function, struct buf *out);
/* Appends the method alone, "shop.OrderController.get", without the suffix of a generated class. */
void handlers_method(const struct handlers *h, uint32_t function, struct buf *out);

/* Sets further dispatchers: @list has methods with commas between them, such as
 * "com.acme.Router.dispatch". Call it before other threads start. 0; -EINVAL with @err. */
int handlers_set_own(const char *list, struct error *err);
