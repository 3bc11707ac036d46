/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the JVM's internal names to readable ones, and drops parts that differ in each run.
 * Takes and returns raw modified UTF-8, to be cleaned afterwards. Pure; thread: any.
 *
 * Dropped: what the JVM appends to the names of hidden and anonymous classes. That is
 * "Foo$$Lambda$14/0x0000000800c03000" up to JDK 20, "Foo$$Lambda/0x...", "Foo+0x..." in memory,
 * "Foo$$Lambda$14/1234567" in JDK 8. Also the numbers of lambda classes and of generated reflection
 * accessors ("GeneratedMethodAccessor123"). Kept: "$Proxy12", "Foo$1", "$$SpringCGLIB$$0",
 * "lambda$main$0": their numbers distinguish different code.
 */
#pragma once

#include "base/buf.h"

/* "java/lang/Thread" -> "java.lang.Thread". */
void java_class_text(struct span internal, struct buf *out);
/* Writes a class as the JVM names it: "java/lang/Thread", "[[J" -> "long[][]",
 * "[Ljava/lang/String;" -> "java.lang.String[]". */
void java_type_text(struct span internal, struct buf *out);
/* Writes the class with the raw name @name as java_type_text() does, cleaned and cut, into @text of
 * @size bytes. Returns @text. */
char *java_type_clean(const char *name, char *text, size_t size);
/* Writes the class of a lock. @of_class: the lock is the object of that class, which a static
 * synchronized method locks: "java.lang.Class for shop.Cart". */
void java_lock_text(struct span internal, bool of_class, struct buf *out);
/* Writes "(ILjava/lang/String;[[J)V" as "(int, java.lang.String, long[][])". Appends a text that is
 * no signature unchanged. */
void java_signature_text(struct span signature, struct buf *out);
/* Returns a stub's name as in all releases before 26: there it is "Stub Generator call_stub_stub",
 * and "call_stub_stub (stub gen)" from 27 on. Points into @name. */
struct span java_stub_text(struct span name);
