// SPDX-License-Identifier: GPL-2.0

//! Growing a structure that lives under a spinlock, in two phases.
//!
//! Memory can not be allocated while a spinlock is held. So a structure that lacks
//! room says what it lacks (a [`Request`]), the lock is dropped, the memory is
//! allocated, the lock is taken again, and the memory is installed if it still fits:
//! meanwhile another thread may have grown the structure, or used up what it had.
//! [`retry`] is that dance, so that nobody has to write it again.

use crate::shim::AllocError;

/// What a structure lacks. Made under the lock, fulfilled without it.
pub(crate) trait Request {
    /// The memory, ready to be installed under the lock.
    type Grown;

    /// Allocates. May sleep; no lock may be held.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if there is no memory. Nothing has changed then.
    fn allocate(self) -> Result<Self::Grown, AllocError>;
}

/// Outcome of one attempt of [`retry`].
pub(crate) enum Attempt<R, Q> {
    /// It worked, or failed for a reason that memory does not cure.
    Done(R),
    /// More memory is needed first. The attempt has changed nothing.
    Grow(Q),
}

/// Calls `attempt` until it is done, allocating what it asks for in between.
///
/// Each call of `attempt` takes the lock, installs what its argument holds (nothing in
/// the first round), tries, and drops the lock. What it leaves in its argument was not
/// needed after all and is freed here, where no lock is held.
///
/// There is no bound on the number of rounds, but each round after the first means that
/// other threads made use of the memory in between.
///
/// # Errors
///
/// [`AllocError`] if there is no memory.
///
/// # Examples
///
/// ```ignore
/// let id = retry(|grown| {
///     let mut pool = process.pool.lock();
///     pool.install(grown);
///     match pool.alloc(1) {
///         Some(id) => Attempt::Done(Ok(id)),
///         None => match pool.grow_request() {
///             Some(request) => Attempt::Grow(request),
///             None => Attempt::Done(Err(ENOSPC)),
///         },
///     }
/// })??;
/// ```
pub(crate) fn retry<R, Q: Request>(
    mut attempt: impl FnMut(&mut Option<Q::Grown>) -> Attempt<R, Q>,
) -> Result<R, AllocError> {
    let mut grown = None;
    loop {
        match attempt(&mut grown) {
            Attempt::Done(result) => return Ok(result),
            Attempt::Grow(request) => grown = Some(request.allocate()?),
        }
    }
}

/// Calls `step` until it returns nothing, and frees what it returns.
///
/// Each call of `step` takes the lock, takes one piece of memory out of use, and drops the
/// lock, so that nobody waits for long however much there is to give back.
///
/// # Examples
///
/// ```ignore
/// give_back(|| process.pool.lock().shrink(Keep::OneSpare));
/// ```
pub(crate) fn give_back<M>(mut step: impl FnMut() -> Option<M>) {
    while let Some(memory) = step() {
        drop(memory);
    }
}
