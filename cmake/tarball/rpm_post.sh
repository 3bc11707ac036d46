# SPDX-License-Identifier: Apache-2.0
# rpm gives how many versions will be installed: with one before this, it is an upgrade.
upgrade=
[ "$1" = 1 ] || upgrade=yes
sh /usr/lib/flamed/postinst configure $upgrade
