/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the fake backend. */
#pragma once

#include "fake_backend.h"

/* Notes the viewer of the request: each call passes one. */
void fake_see(struct fake *f, const struct viewer *v);
/* Returns the failure that the process of @t stands for (enum fake_pid), with @err. 0: none. */
int fake_outcome(const struct target_selector *t, struct error *err);

/* ---- of fake_resources.c: captures as resources, the past, triggers, metrics ---- */

/* Fills in the functions of @b. */
void fake_add_resources(struct api_backend *b);
/* Has @b answer that there is no past. */
void fake_without_past(struct api_backend *b);
