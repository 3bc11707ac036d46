/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may attach next where only a few may at a time. An owner is a container, or a user outside of
 * any. No owner has more than a share of the places. An attach that waits for a JVM that does not
 * answer makes room for another owner after a while. Pure. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TURNS_PER_OWNER 2
#define TURNS_FAIR_NS UINT64_C(3000000000) /* that nobody is sent away before */

struct turn {
    uint64_t owner; /* 0: the place is free */
    uint64_t since_ns;
};

/* Decides for a newcomer of @owner (not 0). Return: 0 and the place in *ret, which its present user
 * must leave first; -EAGAIN: none now. */
int turns_next(const struct turn *turns, size_t count, uint64_t owner, uint64_t now_ns,
               size_t *ret);
/* Checks whether one of @owner may begin: @interval_ns after the last one of it, and after that of
 * one of
 * @count others at least. Return: 0 and the place in *ret to note it at; -EAGAIN. */
int turns_interval(const struct turn *last, size_t count, uint64_t owner, uint64_t interval_ns,
                   uint64_t now_ns, size_t *ret);
