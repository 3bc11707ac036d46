/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names without what differs from start to start and from build to build, for comparisons
 * (names=merged). They lose the numbers of lambdas, proxies, accessors and generated classes
 * (CGLIB, Byte Buddy, Guice, Hibernate, Mockito, Javassist, Groovy, Clojure). Kotlin's and Scala's
 * own spellings become what their authors wrote. What a programmer numbered ("Foo$1", "step2")
 * stays. Pure.
 */
#pragma once

#include "base/buf.h"

/* "shop.Cart$$SpringCGLIB$$0" -> "shop.Cart$$SpringCGLIB"; "jdk.proxy2.$Proxy41" ->
 * "jdk.proxy.$Proxy". Never longer than @name. */
void merged_class(struct span name, struct buf *out);
/* "lambda$total$3" -> "lambda$total"; "load$suspendImpl" -> "load"; "$anonfun$main$1" ->
 * "$anonfun$main"; "$plus$plus" -> "++". Never longer than @name. */
void merged_method(struct span name, struct buf *out);
