# SPDX-License-Identifier: GPL-2.0
#
# Prepares a guest to measure in. Both drivers are loaded, the C driver first,
# which does not load once the netlink family is taken.

# measure COMMAND...: what fails ends the guest.
measure() {
	echo "# $*"
	"$@" || exit 1
}

insmod $THEIRS devices=cbinder0,cbinder1 || exit 1
insmod $OURS devices=rbinder0,rbinder1 || exit 1
# SETTLE
