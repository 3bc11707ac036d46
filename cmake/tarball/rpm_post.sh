# SPDX-License-Identifier: Apache-2.0
# rpm gives how many versions will be installed: with one before this, it is an upgrade.
upgrade=
[ "$1" = 1 ] || upgrade=yes
rm -f /usr/lib/flamed/installed-by-install.sh # its files are of this package now
sh /usr/lib/flamed/postinst configure $upgrade
