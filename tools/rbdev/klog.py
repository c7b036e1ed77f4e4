# SPDX-License-Identifier: GPL-2.0
"""Finds what must not be in a kernel log.

A finding is a line by which the kernel reports a mistake of its own. Whatever a
test tried, none may come: a single one fails the run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PATTERNS = (
    r"\bBUG:",
    r"\bkernel BUG at\b",
    r"\bWARNING:",
    r"\bOops\b",
    r"\bKernel panic\b",
    r"\bgeneral protection\b",
    r"\bunable to handle (?:kernel|page fault)",
    r"\bdouble fault\b",
    r"\bK(?:A|C|M)SAN:",
    r"\bUBSAN:",
    r"\bINFO: task .* blocked for more than\b",
    r"\bINFO: rcu",
    r"\brcu.*\bstall",
    r"\bsoft lockup\b|\bhard LOCKUP\b|\bwatchdog: BUG",
    r"\bunreferenced object\b|\bnew suspected memory leaks\b",
    r"\brefcount_t:",
    r"\bsleeping function called from invalid context\b",
    r"\bscheduling while atomic\b",
    r"\bpossible (?:circular locking|recursive locking|irq lock inversion)",
    r"\binconsistent lock state\b",
    r"\bsuspicious RCU usage\b",
    r"\bInvalid wait context\b",
    r"\block held when returning to user space\b|\bstill has locks held\b",
    r"\bbad unlock balance\b|\bheld lock freed\b",
    r"\bDEBUG_LOCKS_WARN_ON\b|\bINFO: trying to register non-static key\b",
    r"\bODEBUG:|\blist_(?:add|del) corruption\b|\bBad page state\b|\bBad rss-counter\b",
    r"\bObjects remaining\b|\bSlab cache still has objects\b",
    r"\bpage allocation failure\b",
    r"\brust_kernel: panicked\b|\bpanicked at\b",
    r"\binvalid opcode\b|\bdivide error\b|\bstack segment\b",
    r"\bOut of memory: Killed\b",
    r"\bdisagrees about version of symbol\b|\bUnknown symbol\b",
)

_FINDING = re.compile("|".join(f"(?:{pattern})" for pattern in PATTERNS))
_TRACE = re.compile(r"Call Trace:|^\[[^]]*\](?:\[[^]]*\])?\s+(?:\? )?[\w.]+\+0x|RIP:|Modules linked in")

# What a healthy kernel says at every start, or what the harness itself causes.
ALLOWED = (
    re.compile(r"\bWARNING: (?:Kernel not compiled with mitigations|Support for unprivileged eBPF|Unprivileged eBPF is enabled)"),
    re.compile(r"\*\*\s+.*\bNOTICE\b"),
)


@dataclass(frozen=True)
class Finding:
    """A line of the log: its index in the log, its text."""

    index: int
    line: str


def scan(lines: list[str]) -> list[Finding]:
    """All findings in a kernel log, in order."""
    return [
        Finding(index, line)
        for index, line in enumerate(lines)
        if _FINDING.search(line) and not any(allowed.search(line) for allowed in ALLOWED)
    ]


def is_finding(line: str) -> bool:
    """Whether a single line is a finding."""
    return bool(scan([line]))


def around(lines: list[str], finding: Finding, before: int = 5, after: int = 45) -> list[str]:
    """The log around a finding, the whole trace as far as it fits."""
    start = max(0, finding.index - before)
    end = finding.index + after
    shown = lines[start:end]
    # End where the report ends rather than somewhere in quiet times after it.
    last = finding.index - start
    for offset in range(last + 1, len(shown)):
        if _TRACE.search(shown[offset]) or _FINDING.search(shown[offset]):
            last = offset
    return shown[: min(len(shown), last + 6)]


def report(lines: list[str], limit: int = 3) -> list[str]:
    """Words for people about the findings: the first few with the log around them."""
    findings = scan(lines)
    text = []
    shown_until = -1
    shown = 0
    for finding in findings:
        if finding.index <= shown_until:
            continue
        if shown == limit:
            rest = sum(1 for other in findings if other.index >= finding.index)
            text.append(f"# ... and {rest} more lines like these")
            break
        shown += 1
        context = around(lines, finding)
        text.append(f"# the kernel log says: {finding.line.strip()}")
        text += [f"#   | {line}" for line in context]
        shown_until = max(finding.index, finding.index - 5) + len(context)
    return text
