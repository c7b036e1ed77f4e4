# SPDX-License-Identifier: GPL-2.0
#
# What scripts in the guest share. They run with busybox and print KTAP between
# two marks, `@@ begin GROUP PROGRAM` and `@@ end GROUP PROGRAM STATUS`; the
# reader of the marks is rbdev/guest.py. `@@ note TEXT` is shown at once.

OURS=/rust_binder.ko
THEIRS=/binder_linux.ko

# run GROUP SECONDS PROGRAM ARGUMENTS...: a test program, with a time limit.
run() {
	local group=$1 limit=$2 program=$3 status
	shift 3
	echo "@@ begin $group $program"
	timeout -s KILL "$limit" "$program" "$@" 2>&1
	status=$?
	echo "@@ end $group $program $status"
	return $status
}

# begin GROUP PROGRAM: the cases of a shell script.
begin() {
	GROUP=$1 PROGRAM=$2 COUNT=0 FAILED=0
	echo "@@ begin $GROUP $PROGRAM"
	echo "KTAP version 1"
}

# result STATUS NAME [REASON]: one case of the script.
result() {
	COUNT=$((COUNT + 1))
	if [ "$1" = 0 ]; then
		echo "ok $COUNT $2"
	else
		FAILED=1
		[ -n "$3" ] && echo "# $3"
		echo "not ok $COUNT $2"
	fi
}

# skip NAME REASON
skip() {
	COUNT=$((COUNT + 1))
	echo "ok $COUNT $1 # SKIP $2"
}

# finish: the end of the script's cases.
finish() {
	echo "1..$COUNT"
	echo "@@ end $GROUP $PROGRAM $FAILED"
}

# expect NAME COMMAND...: the command must succeed; its output is shown if not.
expect() {
	local name=$1 output
	shift
	output=$("$@" 2>&1)
	result $? "$name" "$* said: $output"
}

# refused NAME COMMAND...: the command must fail.
refused() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then
		result 1 "$name" "$* succeeded, but it was to be refused"
	else
		result 0 "$name"
	fi
}

# loaded MODULE: whether it is.
loaded() {
	grep -q "^$1 " /proc/modules
}

# said TEXT: how often the kernel log has it.
said() {
	dmesg | grep -c -- "$1"
}

# unload MODULE: rmmod; what was killed just now may still be going.
unload() {
	local try=0
	until rmmod "$1" 2>/tmp/unload; do
		try=$((try + 1))
		[ $try -lt 500 ] || { cat /tmp/unload; return 1; }
		usleep 10000
	done
}

# free_kb: memory that is free once caches are dropped, in KiB. Pages that the
# kernel keeps ready for a CPU are free, too.
free_kb() {
	sync
	echo 3 > /proc/sys/vm/drop_caches
	awk '/^MemFree:/ { kb += $2 } $1 == "count:" { kb += 4 * $2 } END { print kb }' \
		/proc/meminfo /proc/zoneinfo
}

# slab_kb: memory in slabs that no cache can give back, in KiB.
slab_kb() {
	sed -n 's/^SUnreclaim: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

KMEMLEAK=/sys/kernel/debug/kmemleak

# forget_leaks: what the kernel's own start-up lost is not ours. The console stays
# silent about it: what is said there counts against us.
forget_leaks() {
	[ -e $KMEMLEAK ] || return 0
	dmesg -n 4
	echo scan > $KMEMLEAK
	echo clear > $KMEMLEAK
	dmesg -n 7
}

# leaks: scans until nothing changes any more, prints the heads of the records.
# kmemleak tells of an object in its second scan, and once it is 5 s old, so the
# last two scans have to agree and to have begun later than that.
leaks() {
	local begun=$(seconds) start last=none now try=0
	while [ $try -lt 50 ]; do
		start=$(seconds)
		echo scan > $KMEMLEAK
		now=$(grep '^unreferenced object' $KMEMLEAK)
		if [ $((start - begun)) -lt 6 ]; then
			usleep 500000
		elif [ "$now" = "$last" ]; then
			break
		else
			last=$now
		fi
		try=$((try + 1))
	done
	[ -z "$now" ] || echo "$now"
}

# seconds: since the guest was started.
seconds() {
	cut -d . -f 1 /proc/uptime
}

# no_leaks NAME: the case that nothing was lost since forget_leaks. The records are
# shown, and the kernel log has said so, too.
no_leaks() {
	local lost
	[ -e $KMEMLEAK ] || return 0
	lost=$(leaks | wc -l)
	[ "$lost" = 0 ] || head -n 150 $KMEMLEAK | sed 's/^/# /'
	result "$((lost != 0))" "$1" "$lost objects, see above"
}
