/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For BPF programs: declarations of maps, each in a line. */
#pragma once

/* Declares the map @name of @entries values. @kind is a BPF_MAP_TYPE_ without that prefix. */
#define MAP(name, kind, entries, key_type, value_type)                                             \
    struct {                                                                                       \
        __uint(type, BPF_MAP_TYPE_##kind);                                                         \
        __uint(max_entries, entries);                                                              \
        __type(key, key_type);                                                                     \
        __type(value, value_type);                                                                 \
    } name SEC(".maps")

/* Declares a map that allocates each entry when it is added. */
#define LAZY_MAP(name, kind, entries, key_type, value_type)                                        \
    struct {                                                                                       \
        __uint(type, BPF_MAP_TYPE_##kind);                                                         \
        __uint(max_entries, entries);                                                              \
        __uint(map_flags, BPF_F_NO_PREALLOC);                                                      \
        __type(key, key_type);                                                                     \
        __type(value, value_type);                                                                 \
    } name SEC(".maps")

/* Declares the map @name with a value for each thread that needs one. */
#define THREAD_MAP(name, value_type)                                                               \
    struct {                                                                                       \
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                                   \
        __uint(map_flags, BPF_F_NO_PREALLOC);                                                      \
        __type(key, int);                                                                          \
        __type(value, value_type);                                                                 \
    } name SEC(".maps")
