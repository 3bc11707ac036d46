# SPDX-License-Identifier: Apache-2.0
# When cpack begins: what a package for another architecture depends on.
execute_process(COMMAND ${CPACK_FLAMED_DEPENDS} OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_DEPENDS COMMAND_ERROR_IS_FATAL ANY)
