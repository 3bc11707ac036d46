/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the class of a lock for a sentence. Pure; thread: any. */
#pragma once

#include "base/buf.h"

/* First part of the name of a lock that a static synchronized method takes, as in jstack. */
#define LOCK_OF_CLASS "java.lang.Class for "

/* Appends "a lock of class shop.Prices". If the lock is the object of the class: "the lock of class
 * shop.Prices itself". If @name does not name a class: "a lock of unknown class". */
void lock_words(struct span name, struct buf *out);
