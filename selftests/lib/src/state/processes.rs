// SPDX-License-Identifier: GPL-2.0
//! `state`, `transactions` and `proc/<pid>`.

use super::parts::{Buffer, Figures, NodeLine, RefLine, ThreadLine, Waiting};
use super::scan::{Lines, Scanned};

/// The content of one of these files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Nodes whose owner is dead.
    pub dead_nodes: Vec<NodeLine>,
    /// Processes, as often as they have a device open.
    pub processes: Vec<ProcessState>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessState {
    /// Its id.
    pub pid: i32,
    /// The name of its context.
    pub context: String,
    /// Its threads.
    pub threads: Vec<ThreadLine>,
    /// Its nodes.
    pub nodes: Vec<NodeLine>,
    /// Its handles.
    pub refs: Vec<RefLine>,
    /// What only this project's driver tells.
    pub figures: Option<Figures>,
    /// Its buffers.
    pub buffers: Vec<Buffer>,
    /// What waits for any thread.
    pub queue: Vec<Waiting>,
    /// It was told of a death and has not answered.
    pub has_delivered_death: bool,
}

impl State {
    pub(super) fn parse(text: &str) -> Scanned<Self> {
        let mut lines = Lines::new(text)?;
        lines.demand("binder state:")?.end()?;
        let mut state = State::default();
        if let Some(scan) = lines.take("dead nodes:") {
            scan.end()?;
            while let Some(node) = NodeLine::take(&mut lines)? {
                state.dead_nodes.push(node);
            }
        }
        state.take_processes(&mut lines)?;
        lines.end()?;
        Ok(state)
    }

    pub(super) fn parse_transactions(text: &str) -> Scanned<Self> {
        let mut lines = Lines::new(text)?;
        lines.demand("binder transactions:")?.end()?;
        let mut state = State::default();
        state.take_processes(&mut lines)?;
        lines.end()?;
        Ok(state)
    }

    pub(super) fn parse_process(text: &str) -> Scanned<Self> {
        let mut lines = Lines::new(text)?;
        let mut state = State::default();
        while let Some(scan) = lines.take("binder proc state:") {
            scan.end()?;
            state.take_processes(&mut lines)?;
        }
        lines.end()?;
        Ok(state)
    }

    fn take_processes(&mut self, lines: &mut Lines<'_>) -> Scanned<()> {
        while let Some(process) = ProcessState::take(lines)? {
            self.processes.push(process);
        }
        Ok(())
    }

    /// The processes with this id.
    pub fn of(&self, pid: u32) -> impl Iterator<Item = &ProcessState> {
        self.processes.iter().filter(move |process| i64::from(process.pid) == i64::from(pid))
    }
}

impl ProcessState {
    fn take(lines: &mut Lines<'_>) -> Scanned<Option<Self>> {
        let Some(mut scan) = lines.take("proc ") else {
            return Ok(None);
        };
        let pid = scan.number()?;
        scan.end()?;
        let context = lines.demand("context ")?.rest().to_owned();
        let mut process = ProcessState {
            pid,
            context,
            threads: Vec::new(),
            nodes: Vec::new(),
            refs: Vec::new(),
            figures: None,
            buffers: Vec::new(),
            queue: Vec::new(),
            has_delivered_death: false,
        };
        while let Some(thread) = ThreadLine::take(lines)? {
            process.threads.push(thread);
        }
        // Work for nodes in the queue of the process comes last, and begins alike.
        while lines.peek().is_some_and(|scan| !scan.rest().starts_with("  node work")) {
            match NodeLine::take(lines)? {
                Some(node) => process.nodes.push(node),
                None => break,
            }
        }
        while let Some(handle) = RefLine::take(lines)? {
            process.refs.push(handle);
        }
        process.figures = Figures::take(lines)?;
        while let Some(buffer) = Buffer::take(lines)? {
            process.buffers.push(buffer);
        }
        process.queue = Waiting::take_all(lines, "  ")?;
        if let Some(scan) = lines.take("  has delivered dead binder") {
            scan.end()?;
            process.has_delivered_death = true;
        }
        Ok(Some(process))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parts::{Item, Place};
    use super::*;

    const TEXT: &str = "\
binder state:
dead nodes:
  node 7: u0000000000000010 c0000000000000020 hs 1 hw 1 ls 0 lw 0 is 1 iw 1 tr 0 proc 12
proc 12
context binder
  thread 13: l 12 need_return 0 tr 0
    outgoing transaction 9: 00000000abcdef01 from 12:13 to 14:0 code 1a flags 10 pri -5 a0 r0 elapsed 3ms
    transaction complete deferred
    pending transaction 11: 00000000abcdef02 from 14:15 to 12:13 code 2 flags 0 pri 0 a0 r0 elapsed 0ms node 3 size 4:8 offset a0
  thread 16: l 00 need_return 1 tr 0
  node 3: u0000000000001000 c0000000000000001 hs 1 hw 1 ls 1 lw 0 is 1 iw 2 tr 1 proc 14 17
    pending async transaction 12: (____ptrval____) from 14:15 to 12:0 code 3 flags 1 pri 0 a1 r0 elapsed 9ms node 3 size 0:0 offset b0
  ref 5: desc 1 dead node 7 s 1 w 1 d 0000000000000000
  ref 6: desc 2 node 8 s 0 w 1 d 00000000aaaaaaaa
  handles: used 2, highest 2, capacity 64, bytes 0
  space: size 1048576, free 1048000, free oneway 524288, buffers 1, pages 1 of 256
  buffer 11: a0 size 4:8:0 active
  node work 3: u0000000000001000 c0000000000000001
  has delivered dead binder
proc 18
context binder
  handles: used 0, highest none, capacity 64, bytes 0
  space: size 0, free 0, free oneway 0, buffers 0, pages 0 of 0
";

    #[test]
    fn every_line_is_understood() {
        let state = State::parse(TEXT).expect("the layout");
        assert_eq!(state.dead_nodes[0].holders, [12]);
        let [first, second] = &state.processes[..] else {
            panic!("two processes");
        };
        assert_eq!((first.pid, first.context.as_str()), (12, "binder"));
        let thread = &first.threads[0];
        assert_eq!((thread.tid, thread.looper, thread.stack[0].id), (13, 0x12, 9));
        assert_eq!(thread.stack[0].buffer, Place::Elsewhere);
        assert_eq!(thread.queue.len(), 2);
        assert!(thread.queue[0].is_deferred && thread.queue[0].item == Item::Complete);
        let Item::Transaction(pending) = &thread.queue[1].item else {
            panic!("a transaction");
        };
        let here = Place::Here { node: Some(3), data: 4, offsets: 8, offset: 0xa0 };
        assert_eq!(pending.buffer, here);
        assert!(first.threads[1].needs_return);
        assert_eq!(first.nodes[0].holders, [14, 17]);
        assert_eq!(first.nodes[0].waiting.len(), 1);
        assert!(first.refs[0].is_dead && !first.refs[0].has_death);
        assert!(!first.refs[1].is_dead && first.refs[1].has_death);
        assert_eq!(first.buffers[0].sizes, (4, 8, 0));
        assert_eq!(first.queue.len(), 1);
        assert!(first.has_delivered_death);
        assert_eq!(second.figures.as_ref().map(|f| f.highest), Some(None));
    }

    #[test]
    fn every_other_line_is_an_error() {
        for (good, bad) in [
            ("need_return 0", "need_return 2"),
            ("  thread 13", "   thread 13"),
            ("offset a0", "offset a0 x"),
            ("c0000000000000001 hs", "c1 hs"),
            ("proc 14 17", "proc 14"),
            ("delivered dead", "delivered live"),
            ("proc 18", "\nproc 18"),
        ] {
            let text = TEXT.replacen(good, bad, 1);
            assert_ne!(text, TEXT);
            assert!(State::parse(&text).is_err(), "{bad:?} was accepted");
        }
        assert!(State::parse(TEXT.trim_end()).is_err(), "no end of the last line");
    }
}
