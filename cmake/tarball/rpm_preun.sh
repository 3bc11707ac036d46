# SPDX-License-Identifier: Apache-2.0
# rpm gives how many versions will stay: after an upgrade the new one does.
[ "$1" != 0 ] || sh /usr/lib/flamed/prerm remove disable
