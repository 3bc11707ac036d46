/* SPDX-License-Identifier: Apache-2.0 */
/* sample/yields_room.bpf.h: how the JVMs of several owners share the room for waits. */
#include "suite.h"

#include <linux/bpf.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "sample/yields_abi.h"

#define ROOM 1024

/* The map, which has no more than ROOM entries. */
static struct {
    struct yields_key keys[ROOM];
    struct yields_wait waits[ROOM];
    unsigned count;
} going;
static const __u32 waits_max = ROOM;

static unsigned find(const struct yields_key *key)
{
    unsigned i = 0;

    while (i < going.count && memcmp(&going.keys[i], key, sizeof(*key)) != 0)
        i++;
    return i;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
    unsigned i = find(key);

    ck_assert_ptr_eq(map, &going);
    if ((flags == BPF_NOEXIST && i < going.count) || (flags == BPF_EXIST && i == going.count))
        return -EEXIST;
    if (i == ROOM)
        return -E2BIG;
    memcpy(&going.keys[i], key, sizeof(*going.keys));
    memcpy(&going.waits[i], value, sizeof(*going.waits));
    going.count += i == going.count;
    return 0;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
    unsigned i = find(key);

    ck_assert_ptr_eq(map, &going);
    if (i == going.count)
        return -ENOENT;
    going.keys[i] = going.keys[--going.count];
    going.waits[i] = going.waits[going.count];
    return 0;
}

#include "sample/yields_room.bpf.h"

static void setup(void)
{
    going.count = 0;
    waits_of_all = 0;
    memset(waits_of, 0, sizeof(waits_of));
}

/* Thread @tid of @p begins to wait. */
static bool begins(struct yields_process *p, uint64_t tid)
{
    struct yields_key key = { .tid = tid, .epoch = p->epoch };
    struct yields_wait wait = { .since_ns = 1 };

    return keep_wait(p, &key, &wait);
}

static void ends(struct yields_process *p, uint64_t tid)
{
    struct yields_key key = { .tid = tid, .epoch = p->epoch };

    drop_wait(p, &key);
}

/* Threads of @p begin to wait until one has no room. Returns the number of those that have. */
static unsigned fill(struct yields_process *p)
{
    unsigned n = 0;

    while (begins(p, n + 1))
        n++;
    return n;
}

START_TEST(one_jvm_gets_half)
{
    struct yields_process hostile = { .epoch = 1, .share = 3 }, other = { .epoch = 2, .share = 4 };

    ck_assert_uint_eq(fill(&hostile), ROOM / 2);
    for (unsigned tid = ROOM; tid < 3 * ROOM; tid++)
        ck_assert(!begins(&hostile, tid));
    ck_assert_uint_eq(hostile.refused, 1 + 2 * ROOM);
    for (unsigned tid = 1; tid <= ROOM / 4; tid++)
        ck_assert(begins(&other, tid));
    ck_assert_uint_eq(other.refused, 0);
}
END_TEST

/* JVMs of one owner get no more than one of them would. */
START_TEST(jvms_of_an_owner_have_one_share)
{
    struct yields_process others = { .epoch = 99, .share = 1 };
    unsigned sum = 0;

    for (unsigned i = 0; i < YIELDS_PROCESSES_MAX - 1; i++)
        sum += fill(&(struct yields_process){ .epoch = i + 1 });
    ck_assert_uint_eq(sum, ROOM / 2);
    ck_assert_uint_eq(fill(&others), ROOM / 4);
}
END_TEST

/* A wait that goes on takes no further room, and one that ends gives it back once. */
START_TEST(counts_each_wait_once)
{
    struct yields_process p = { .epoch = 1, .share = 31 };
    unsigned n = fill(&p);

    ck_assert(begins(&p, 1)); /* a wait that is stored begins again: it needs no room */
    ck_assert_int_eq(waits_of_all, n);
    ck_assert_int_eq(waits_of[31], n);
    ck_assert_uint_eq(going.waits[0].share, 31);
    ends(&p, 1);
    ends(&p, 1);
    ck_assert_int_eq(waits_of_all, n - 1);
    ck_assert(begins(&p, 1));
    ck_assert(!begins(&p, n + 1));
    for (unsigned tid = 1; tid <= n; tid++)
        ends(&p, tid);
    ck_assert_int_eq(waits_of_all, 0);
    ck_assert_int_eq(waits_of[31], 0);
    ck_assert_uint_eq(p.refused, 2);
}
END_TEST

/* A JVM may have any number of carriers, at any addresses. */
START_TEST(notes_of_a_jvm_take_no_room_of_others)
{
    static __u8 slot_of[YIELDS_NOTES]; /* + 1; 0: none */
    unsigned used = 0;

    for (__u32 slot = 0; slot < YIELDS_PROCESSES_MAX; slot++) {
        for (__u64 i = 0; i < 100000; i++) {
            __u32 at = yields_note_at(slot, 0x7f0000000000 + i * 0x860);

            ck_assert_uint_lt(at, ARRAY_SIZE(slot_of));
            ck_assert(!slot_of[at] || slot_of[at] == slot + 1);
            used += !slot_of[at];
            slot_of[at] = (__u8)(slot + 1);
        }
    }
    ck_assert_uint_eq(used, ARRAY_SIZE(slot_of)); /* a JVM may use all of its places */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("yields_room");
    TCase *tc = tcase_create("yields_room");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, notes_of_a_jvm_take_no_room_of_others);
    tcase_add_test(tc, one_jvm_gets_half);
    tcase_add_test(tc, jvms_of_an_owner_have_one_share);
    tcase_add_test(tc, counts_each_wait_once);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
