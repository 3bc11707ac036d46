# SPDX-License-Identifier: Apache-2.0
# rpm gives how many versions will be installed: with one before this, it is an upgrade. So it is in the place of what install.sh installed.
mark=/usr/lib/flamed/installed-by-install.sh upgrade=yes
[ "$1" != 1 ] || [ -e $mark ] || upgrade=
rm -f $mark # its files are of this package now
sh /usr/lib/flamed/postinst configure $upgrade
