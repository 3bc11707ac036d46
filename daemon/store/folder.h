/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's folder: checks its owner, and closes it to other users. Knows only the names of the
 * store's files.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

/* Names of the store's files. The names of the log of writes and of copies put aside begin in the
 * same way. */
#define STORE_FILE "flamed.db"
#define STORE_FILE_HISTORY "flamed-history.db"

/* Opens the folder @path for the user @uid, and makes it if it is missing. If root owns the folder,
 * gives it to @uid only if it is empty or holds only a store of @uid. Refuses a system folder that
 * users share, whatever its mode. Thread: one, at start. Return: 0 and a descriptor that the caller
 * owns; -errno with @err. */
int store_folder_open(const char *path, uid_t uid, gid_t gid, int *ret_fd, struct error *err);

/* Removes the rights of others from the folder and from the store's files that the caller's user
 * owns. Leaves a read-only file system as it is. Thread: one, at start. Return: 0; -errno with @err
 * if others could still read. */
int store_folder_narrow(int folder_fd, const char *path, struct error *err);
