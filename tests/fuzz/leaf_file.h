/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One nmethod in a file, as hotspot/leaf/ takes it. Shared by the fuzz target, the unit test and
 * the program that records such files.
 *
 * The file: "LEAF"; thirteen u32 counts in the order of struct leaf_file; then as many of each, as
 * they lie in memory; then the code. What was parsed points into the file for the code.
 */
#pragma once

#include "hotspot/leaf/leaf.h"

#define LEAF_FILE_ENTRIES_MAX 65536
#define LEAF_FILE_NAME 32

/* A call that leaves the code: where it is, and its enum leaf_flow. */
struct leaf_file_call {
    uint32_t at, flow;
};

struct leaf_file_name {
    char text[LEAF_FILE_NAME];
};

struct leaf_file {
    struct leaf_input in; /* points into what follows */
    struct leaf_file_call *calls;
    struct leaf_file_name *names; /* of methods */
    void *parts[13];              /* owned */
    struct leaf_instruction *instructions;
};

/* Reads @file. Return: false when it is none. Owned parts are freed by leaf_file_deinit() either
 * way. */
bool leaf_file_parse(struct span file, struct leaf_file *ret);
void leaf_file_deinit(struct leaf_file *f);
/* Returns whether every index in @in leads to something, and the compiled method is there: what the
 * daemon's own readers see to. */
bool leaf_input_is_whole(const struct leaf_input *in);
