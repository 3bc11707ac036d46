/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One nmethod in a file, in the form for hotspot/leaf/. Shared by the fuzz target, the unit test
 * and the program that records such files.
 *
 * The file: "LEAF", or "LARM" for aarch64; thirteen u32 counts in the order of struct leaf_file;
 * then as many of each, as they lie in memory; then the code. The parsed code points into the file.
 */
#pragma once

#include "hotspot/leaf/leaf.h"

#define LEAF_FILE_ENTRIES_MAX 65536
#define LEAF_FILE_NAME 32

/* A call that leaves the code: its offset, and its enum leaf_flow. */
struct leaf_file_call {
    uint32_t at, flow;
};

struct leaf_file_name {
    char text[LEAF_FILE_NAME];
};

struct leaf_file {
    struct leaf_input in; /* points into the members below */
    struct leaf_file_call *calls;
    struct leaf_file_name *names; /* of methods */
    void *parts[13];              /* owned */
    struct leaf_instruction *instructions;
};

/* Reads @file. Returns false if it has another form. leaf_file_deinit() frees owned parts either
 * way. */
bool leaf_file_parse(struct span file, struct leaf_file *ret);
void leaf_file_deinit(struct leaf_file *f);
/* Returns true if every index in @in is valid, and the compiled method exists. The daemon's own
 * readers ensure that. */
bool leaf_input_is_whole(const struct leaf_input *in);
