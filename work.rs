// SPDX-License-Identifier: GPL-2.0

//! Everything that can wait in a queue for a thread to read it.

use kernel::{prelude::*, sync::Arc};

use crate::{
    defs::Return,
    ffi::link::{Link, Queue, Queued},
    node::{death::Death, freeze::Freeze, Node},
    stats::CountedNotice,
    thread::{queue::Item, OwnError},
    transaction::Transaction,
};

/// A queue of work.
pub(crate) type WorkQueue = Queue<Work>;

/// One piece of work. The set is closed: the protocol has no other kind.
pub(crate) enum Work {
    /// A call or a oneway message on its way to the target.
    Request(Arc<Transaction>),
    /// The answer to a call, or the news that there will be none.
    Response(Arc<Transaction>),
    /// A node whose reference counts changed in a way its owner must know.
    Node(Arc<Node>),
    /// The same news for the thread that gives the node away, while [`Work::Node`] waits
    /// for another thread: it must not come later than what tells that the node is gone.
    NodeForSender(Arc<Node>),
    /// The death of an object that the process refers to, or the end of the interest in it.
    Death(Arc<Death>),
    /// That the process of such an object is frozen or not, or the end of the interest in it.
    Freeze(Arc<Freeze>),
    /// The outcome of a command of the thread itself.
    Notice(KBox<Notice>),
    /// The failure of a command of the thread itself.
    OwnError(KBox<OwnError>),
}

/// A return code without payload that waits to be read, such as
/// `BR_TRANSACTION_COMPLETE`.
///
/// Allocated before the command it reports on takes effect, and kept by the thread
/// for its next command once it was read.
pub(crate) struct Notice {
    pub(crate) link: Link,
    pub(crate) code: Return,
    _counted: CountedNotice,
}

impl Notice {
    /// Allocates a notice; to be called without any lock.
    pub(crate) fn new(code: Return) -> Result<KBox<Self>> {
        Ok(KBox::new(
            Self {
                link: Link::new(),
                code,
                _counted: CountedNotice::new(),
            },
            GFP_KERNEL,
        )?)
    }
}

impl Item for Work {
    fn is_request(&self) -> bool {
        matches!(self, Work::Request(_))
    }
}

impl Work {
    /// Whether it waits somewhere already, as work that can be found in several ways may.
    pub(crate) fn is_queued(&self) -> bool {
        self.link().is_queued()
    }

    /// Another pointer to it, if it is counted.
    pub(crate) fn counted(&self) -> Option<Self> {
        match self {
            Work::Request(transaction) => Some(Work::Request(transaction.clone())),
            Work::Response(transaction) => Some(Work::Response(transaction.clone())),
            Work::Node(node) => Some(Work::Node(node.clone())),
            Work::NodeForSender(node) => Some(Work::NodeForSender(node.clone())),
            Work::Death(death) => Some(Work::Death(death.clone())),
            Work::Freeze(freeze) => Some(Work::Freeze(freeze.clone())),
            Work::Notice(_) | Work::OwnError(_) => None,
        }
    }
}
