# SPDX-License-Identifier: GPL-2.0
"""Tests of the scanner for kernel logs."""

import unittest

from rbdev import klog

BAD = """\
[    5.1] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    5.1] BUG: sleeping function called from invalid context at mm/slab.h:1
[    5.1] WARNING: CPU: 0 PID: 33 at kernel/x.c:12 x+0x1/0x2
[    5.1] WARNING: possible circular locking dependency detected
[    5.1] WARNING: suspicious RCU usage
[    5.1] Oops: 0002 [#1] SMP PTI
[    5.1] Oops: general protection fault, probably for non-canonical address 0xdead: 0000
[    5.1] general protection fault: 0000 [#1]
[    5.1] BUG: KASAN: slab-use-after-free in foo+0x1/0x2
[    5.1] UBSAN: array-index-out-of-bounds in a.c:1:2
[    5.1] BUG: KCSAN: data-race in a / b
[    5.1] INFO: task binder-demo:61 blocked for more than 120 seconds.
[    5.1] rcu: INFO: rcu_preempt self-detected stall on CPU
[    5.1] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:
[    5.1] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]
[    5.1] unreferenced object 0xffff888003a54000 (size 64):
[    5.1] refcount_t: underflow; use-after-free.
[    5.1] rust_kernel: panicked at drivers/x.rs:1:1:
[    5.1] list_add corruption. prev->next should be next
[    5.1] BUG rust_binder_node (Tainted: G): Objects remaining on __kmem_cache_shutdown()
[    5.1] Kernel panic - not syncing: Fatal exception
[    5.1] m: Unknown symbol foo (err -2)
""".splitlines()

GOOD = """\
[    0.0] Linux version 7.3.4 (debian) #1 SMP
[    0.0] random: crng init done
[    1.1] rust_binder: loading out-of-tree module taints kernel.
[    1.1] rust_binder: module verification failed: signature and/or required key missing - tainting kernel
[    1.2] rust_binder: the netlink family is taken; there will be no reports
[    1.3] rcu: Hierarchical RCU implementation.
[    1.4] DEBUG: debugging
""".splitlines()


class Scan(unittest.TestCase):
    def test_each_mistake_is_found(self):
        for line in BAD:
            with self.subTest(line=line):
                self.assertTrue(klog.is_finding(line))

    def test_usual_lines_are_none(self):
        self.assertEqual(klog.scan(GOOD), [])

    def test_index_points_at_the_line(self):
        findings = klog.scan(GOOD + BAD[:1] + GOOD)
        self.assertEqual([finding.index for finding in findings], [len(GOOD)])


class Report(unittest.TestCase):
    TRACE = ["[    5.1] Call Trace:", "[    5.1]  <TASK>", "[    5.1]  binder_ioctl+0x12/0x34"]

    def test_context_and_trace_are_shown(self):
        log = GOOD + BAD[:1] + self.TRACE + ["[    9.0] quiet"] * 100
        shown = klog.around(log, klog.scan(log)[0])
        self.assertIn(BAD[0], shown)
        self.assertIn(self.TRACE[-1], shown)
        self.assertIn(GOOD[-1], shown)
        self.assertLess(shown.count("[    9.0] quiet"), 10)

    def test_no_findings_no_words(self):
        self.assertEqual(klog.report(GOOD), [])

    def test_number_of_reports_is_limited(self):
        log = []
        for _ in range(10):
            log += BAD[:1] + ["[    6.0] quiet"] * 100
        text = klog.report(log)
        self.assertEqual(sum("the kernel log says" in line for line in text), 3)
        self.assertIn("and 7 more", text[-1])


if __name__ == "__main__":
    unittest.main()
