/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the configuration: the row of an option, and its value read from text.
 * Only config*.c includes this. The table is in config.c, values in config_value.c, the command
 * line with --help in config_flags.c, the file in config_yaml.c. Thread: one, at start.
 */
#pragma once

#include "config.h"

enum option_type {
    OPTION_TEXT,
    OPTION_LIST,   /* a list of texts; repeatable */
    OPTION_CHOICE, /* one of `choices`, stored as its value */
    OPTION_BOOL,   /* yes or no */
    OPTION_NUMBER,
    OPTION_SIZE,   /* bytes, with K, M or G */
    OPTION_ACTION, /* a flag of the command line alone */
};

struct choice {
    const char *name;
    unsigned value;
};

struct option {
    const char *name; /* key in the file; on the command line with '-' for '_' */
    enum option_type type;
    size_t offset;
    uint64_t min, max;
    const char *initial; /* default as a user would write it; list: with blanks between */
    const char *unit;    /* the kind of value: the placeholder in --help */
    const char *help;
    const struct choice *choices;
    size_t choice_count;
    bool flag_only; /* not allowed in the file */
    bool pattern;   /* the texts are regular expressions */
    bool address;   /* the text is an address of HTTP, or empty */
};

/* A set of options is a uint64_t with a bit for each row. */
#define CONFIG_OPTIONS_MAX 64

extern const struct option config_options[];
extern const size_t config_option_count;

/* Sets the member of @c that @o describes; a list grows. Returns 0, -EINVAL (invalid value), -E2BIG
 * (list is full) or -ENOMEM. Writes no error message. */
int option_set(const struct option *o, struct span text, struct config *c);
/* Turns the error @r of option_set() into a message that says what a valid value is. @shown_name
 * names the option as its user wrote it. Returns @r. */
int option_refuse(const struct option *o, const char *shown_name, const char *value, int r,
                  struct error *err);
/* Frees a text, empties a list; keeps other values. */
void option_clear(const struct option *o, struct config *c);
bool option_differs(const struct option *o, const struct config *a, const struct config *b);
