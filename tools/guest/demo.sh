# SPDX-License-Identifier: GPL-2.0
#
# Loads the module, runs the demo on it, unloads it.

echo "Linux $(uname -r) has started."
echo "insmod rust_binder.ko devices=rbinder0"
insmod $OURS devices=rbinder0 || exit 1
grep '^rust_binder ' /proc/modules
ls -l /dev/rbinder0
binder-demo --device /dev/rbinder0 $DEMO_OPTIONS || exit 1
echo "rmmod rust_binder"
unload rust_binder || exit 1
echo "The module is gone; nothing is left in /dev: $(ls /dev | grep -c rbinder) devices."
