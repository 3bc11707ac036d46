/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names without what differs from start to start and from build to build: the numbers of lambdas,
 * proxies, accessors and of classes that frameworks generate (CGLIB, Byte Buddy, Guice, Hibernate,
 * Mockito, Javassist, Groovy, Clojure); and Kotlin's and Scala's own spellings as their authors
 * wrote them. For comparing: names=merged. What a programmer numbered ("Foo$1", "step2") stays.
 * Pure.
 */
#pragma once

#include "base/buf.h"

/* "shop.Cart$$SpringCGLIB$$0" -> "shop.Cart$$SpringCGLIB"; "jdk.proxy2.$Proxy41" ->
 * "jdk.proxy.$Proxy". Never longer than @name. */
void merged_class(struct span name, struct buf *out);
/* "lambda$total$3" -> "lambda$total"; "load$suspendImpl" -> "load"; "$anonfun$main$1" ->
 * "$anonfun$main"; "$plus$plus" -> "++". Never longer than @name. */
void merged_method(struct span name, struct buf *out);
