/* SPDX-License-Identifier: Apache-2.0 */
/* The door of api/: what serve/ asks of the engine, as struct api_backend. */
#pragma once

#include "request/backend.h"

struct api;
struct engine;
struct push;

/* Borrows @e, which outlives it. 0 or -ENOMEM. */
int api_new(struct engine *e, struct api **ret);
/* Names what pushes to engines, which outlives the requests that are still answered; NULL: nothing
 * does. Thread: any. */
void api_set_push(struct api *api, struct push *push);
/* Ends its thread, which asks the engine: before that stops, and after the last request. NULL is
 * fine. */
void api_end(struct api *api);
/* NULL is fine. Returns NULL. */
struct api *api_free(struct api *api);
/* Returns the table of its functions. Points into @api. */
const struct api_backend *api_backend(const struct api *api);
