# SPDX-License-Identifier: Apache-2.0
# Before cpack packs: who builds may have a umask by which only root could enter the folders that it made on the way to files.
file(CHMOD_RECURSE ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
