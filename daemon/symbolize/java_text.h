/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the JVM's internal names to readable ones, and drops parts that differ in each run.
 * Takes and returns raw modified UTF-8, to be cleaned afterwards. Pure; thread: any.
 *
 * Dropped are the suffixes that the JVM appends to names of hidden and anonymous classes. They are
 * "Foo$$Lambda$14/0x0000000800c03000" up to JDK 20, "Foo$$Lambda/0x...", "Foo+0x..." in memory,
 * "Foo$$Lambda$14/1234567" in JDK 8. Dropped are also the numbers of lambda classes and of
 * generated reflection accessors ("GeneratedMethodAccessor123"). Kept are "$Proxy12", "Foo$1",
 * "$$SpringCGLIB$$0", "lambda$main$0": their numbers distinguish different code.
 */
#pragma once

#include "base/buf.h"

/* Writes "java/lang/Thread" as "java.lang.Thread". */
void java_class_text(struct span internal, struct buf *out);
/* Writes a class as the JVM names it: "java/lang/Thread", "[[J" -> "long[][]",
 * "[Ljava/lang/String;" -> "java.lang.String[]". */
void java_type_text(struct span internal, struct buf *out);
/* Writes the class with the raw name @name into @text of @size bytes, like java_type_text(),
 * cleaned and cut. Returns @text. */
char *java_type_clean(const char *name, char *text, size_t size);
/* Writes the class of a lock. @of_class: the lock is the class object itself, which a static
 * synchronized method locks. Then writes "java.lang.Class for shop.Cart". */
void java_lock_text(struct span internal, bool of_class, struct buf *out);
/* Writes "(ILjava/lang/String;[[J)V" as "(int, java.lang.String, long[][])". If the text is no
 * signature, appends it unchanged. */
void java_signature_text(struct span signature, struct buf *out);
/* Returns a stub's name without the words that some releases add. Release 26 writes "Stub Generator
 * call_stub_stub", later ones "call_stub_stub (stub gen)". Points into @name. */
struct span java_stub_text(struct span name);
