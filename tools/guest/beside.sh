# SPDX-License-Identifier: GPL-2.0
#
# Loading beside the C driver, in the order that $ORDER says. The C driver cannot
# be unloaded. At the end both are loaded.

FAMILY='netlink family'

begin "load" "$ORDER"
if [ "$ORDER" = ours-first ]; then
	expect "module_loads_first" insmod $OURS devices=rbinder0,rbinder1
	# Without the netlink family the C driver refuses to load, by its own rule.
	if insmod $THEIRS devices=cbinder0,cbinder1 2>/dev/null; then
		skip "C_driver_loads_once_the_module_is_gone" "it loaded before"
	else
		expect "module_works_beside_a_refused_C_driver" sh -c ': < /dev/rbinder0'
		expect "module_unloads_after_that" unload rust_binder
		expect "C_driver_loads_once_the_module_is_gone" \
			insmod $THEIRS devices=cbinder0,cbinder1
		expect "module_loads_again_beside_it" insmod $OURS devices=rbinder0,rbinder1
	fi
else
	expect "C_driver_loads_first" insmod $THEIRS devices=cbinder0,cbinder1
	expect "module_loads_beside_it" insmod $OURS devices=rbinder0,rbinder1
fi
times=$(said "rust_binder: $FAMILY")
result $((times != 1)) "missing_netlink_family_is_said_once" "said $times times"
for device in rbinder0 rbinder1 cbinder0 cbinder1; do
	expect "device_${device}_is_there" test -c /dev/$device
	expect "device_${device}_opens" sh -c ": < /dev/$device"
done
if [ "$ORDER" != ours-first ]; then
	expect "module_unloads_beside_the_C_driver" unload rust_binder
	refused "device_name_of_the_C_driver_is_refused" insmod $OURS devices=rbinder0,cbinder0
	refused "no_device_is_left_of_the_refused_load" test -e /dev/rbinder0
	expect "C_device_survives_the_refused_load" sh -c ': < /dev/cbinder0'
	expect "module_loads_again" insmod $OURS devices=rbinder0,rbinder1
fi
finish
