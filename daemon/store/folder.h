/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's folder: whose it may be, and that nobody else can look into it. Knows nothing of what
 * is in the store but the names of its files.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

/* And what begins with them: the log of writes, a copy put aside. */
#define STORE_FILE "flamed.db"
#define STORE_FILE_HISTORY "flamed-history.db"

/* Opens the folder @path for the user @uid, and makes it where it is missing. Root hands over a
 * folder of its own if that is empty or holds a store of @uid, and no other. It never hands over a
 * folder that others share, whatever its mode. Thread: one, at start.
 * Return: 0 and a descriptor that the caller owns; -errno with @err. */
int store_folder_open(const char *path, uid_t uid, gid_t gid, int *ret_fd, struct error *err);

/* Takes the rights of others from the folder and from the store's files, by the user who owns them.
 * A file system that is read-only is left as it is. Thread: one, at start.
 * Return: 0; -errno with @err where others could still read. */
int store_folder_narrow(int folder_fd, const char *path, struct error *err);
