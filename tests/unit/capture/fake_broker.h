/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A broker for tests, at the other end of a socket. It gives the answers that a test sets, and
 * records the requests that start, filter and stop sampling. It opens the files of /proc itself,
 * which needs root. The real client talks to it, so requests and answers are checked, too.
 */
#pragma once

#include "broker_client/requests.h"

struct fake_broker;

/* Starts a fake broker on its own thread. *ret_fd: the client's end, for broker_new(). */
struct fake_broker *fake_broker_start(int *ret_fd);
/* Ends the fake broker, after broker_free(). Returns NULL. */
struct fake_broker *fake_broker_stop(struct fake_broker *f);
/* Gives the next @times requests of @kind the result @result. */
void fake_broker_answer(struct fake_broker *f, enum broker_request_kind kind, int32_t result,
                        unsigned times);
/* Answers sample_flush with the flush number @no, and with @late pending stacks. */
void fake_broker_flush(struct fake_broker *f, uint32_t no, uint32_t late);
/* Answers facts: the machine samples, without BPF programs, or (!@works) does not yet. */
void fake_broker_sampling(struct fake_broker *f, bool works);
/* Answers mallocs with @calls. */
void fake_broker_mallocs(struct fake_broker *f, uint64_t calls);
/* Answers heap_hits with @hits. */
void fake_broker_heap_hits(struct fake_broker *f, uint64_t hits);
/* Answers yields with @counts. */
void fake_broker_yields(struct fake_broker *f, const struct yields_counts *counts);
/* Fails the test unless the requests since the last call are @lines, each with a newline. P stands
 * for the process. */
void fake_broker_expect(struct fake_broker *f, const char *lines);
/* Forgets the requests so far. */
void fake_broker_forget(struct fake_broker *f);
