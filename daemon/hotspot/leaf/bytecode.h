/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a method's bytecodes, as they lie in a running VM: some are rewritten there. */
#pragma once

#include "hotspot/leaf/leaf.h"

#define LEAF_SPANS_MAX 128 /* loops of one method */

/* Finds the loops of @code, the small ones first. Pure. Return: their number; -EBADMSG: it cannot
 * be read; -E2BIG: more than LEAF_SPANS_MAX. */
int leaf_bytecode_loops(struct span code, struct leaf_span ret[LEAF_SPANS_MAX]);
