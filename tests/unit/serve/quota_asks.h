/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of quotas ask, and what has to hold whatever one caller has taken. */
#pragma once

#include "serve_fixture.h"

#define ALICE 64111u
#define BOB 64112u
/* Sanitized, beside other tests; jvm_lockout wants 200 ms. */
#define QUOTA_SOON_NS NSEC_PER_SEC

/* Skips the test without root. */
void quota_need_root(void);
/* Asks on @fd, which is closed then. */
void quota_ask(int fd, const char *method, const char *target, struct reply *ret);
/* The same with GET. Returns the status. */
unsigned quota_status(int fd, const char *target);
/* @target on @fd is answered at once with @status. */
void quota_assert_soon(int fd, const char *target, unsigned status);
/* Health of everybody, and everything of root, whatever others have taken. */
void quota_assert_root_and_health(void);
/* Returns the header Retry-After; 0: there is none. */
uint64_t quota_retry_s(const struct reply *r);
/* @r is a 429 that says so, and when to ask again. */
void quota_assert_refused(const struct reply *r, const char *contains);
