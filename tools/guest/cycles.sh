# SPDX-License-Identifier: GPL-2.0
#
# Loads and unloads the module $CYCLES times under load: each time a client and a
# server talk through it, unloading is tried while they do, and once they are gone
# it must work. $BURST is the program that talks. Meanwhile another process keeps
# a CPU busy.

# growth START NOW CYCLES NAME: memory may swing, but not grow by the cycle.
growth() {
	local more=$(($2 - $1)) limit=$((6144 + $3))
	result $((more > limit)) "$4" "$more KiB more after $3 cycles (limit $limit)"
}

# cycle NUMBER: one load, calls, a refused unload, and the unload.
cycle() {
	insmod $OURS devices=rbinder0 || return 1
	exec 4< /dev/rbinder0
	$BURST > /tmp/burst 2>&1 &
	local client=$!
	if rmmod rust_binder 2>/dev/null; then
		echo "the module went away under an open file"
		return 1
	fi
	exec 4<&-
	# Most clients are killed, each a little later in what they do.
	if [ $(($1 % 5)) != 0 ]; then
		usleep $(($1 * 7 % 50 * 1000))
		kill -KILL $client
		wait $client 2>/dev/null
	elif ! wait $client; then
		cat /tmp/burst
		return 1
	fi
	unload rust_binder || return 1
	[ ! -e /dev/rbinder0 ]
}

# busy: a load on the CPU that lasts as long as /tmp/busy does.
busy() {
	while [ -e /tmp/busy ]; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do :; done
	done
}

forget_leaks
begin cycles "$CYCLES"
: > /tmp/busy
busy &
number=0 failed=0 warm=$((CYCLES < 50 ? CYCLES / 2 : 50))
free=0 slab=0
while [ $number -lt $CYCLES ]; do
	if ! cycle $number > /tmp/cycle 2>&1; then
		failed=1
		sed 's/^/# /' /tmp/cycle
		break
	fi
	number=$((number + 1))
	[ $number = $warm ] && free=$(free_kb) slab=$(slab_kb)
	[ $((number % 100)) = 0 ] && echo "@@ note $number of $CYCLES cycles"
done
rm /tmp/busy
wait
result $failed "all_${CYCLES}_cycles_end_clean" "cycle $number failed"
result $((number < CYCLES)) "no_cycle_is_left_out" "$number cycles of $CYCLES were done"
unload rust_binder 2>/dev/null >/dev/null
if [ -e $KMEMLEAK ]; then
	# Free memory says little there: KASAN keeps back what was freed.
	no_leaks "no_object_is_leaked"
else
	growth $((-free)) $((-$(free_kb))) $((CYCLES - warm)) "free_memory_does_not_shrink"
	growth $slab $(slab_kb) $((CYCLES - warm)) "slabs_do_not_grow"
fi
refused "no_device_is_left" sh -c 'ls /dev/rbinder*'
refused "nothing_is_left_in_slabs" grep -q rust_binder /proc/slabinfo
finish
