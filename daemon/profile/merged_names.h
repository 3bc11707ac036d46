/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortens names by parts that differ from start to start and from build to build, for comparisons
 * (names=merged). Removes the numbers of lambdas, proxies, accessors and generated classes (CGLIB,
 * Byte Buddy, Guice, Hibernate, Mockito, Javassist, Groovy, Clojure). Spellings of Kotlin and Scala
 * become the names in the source. Numbers that a programmer wrote ("Foo$1", "step2") stay. Pure.
 */
#pragma once

#include "base/buf.h"

/* "shop.Cart$$SpringCGLIB$$0" -> "shop.Cart$$SpringCGLIB"; "jdk.proxy2.$Proxy41" ->
 * "jdk.proxy.$Proxy". Never longer than @name. */
void merged_class(struct span name, struct buf *out);
/* "lambda$total$3" -> "lambda$total"; "load$suspendImpl" -> "load"; "$anonfun$main$1" ->
 * "$anonfun$main"; "$plus$plus" -> "++". Never longer than @name. */
void merged_method(struct span name, struct buf *out);
