// SPDX-License-Identifier: GPL-2.0
//! Who may call or reply when.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, check_eq, check_matches, limits, Errno};

use super::pair;
use crate::stage::worker::Worker;
use crate::stage::{
    actor_on, failed_with, pending, refusal, refused, reply, send, set_nonblock, take, Stage,
};

pub fn reply_without_a_transaction_is_a_protocol_error(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let actor = stage.actor()?;
    reply(&actor, 0, &Parcel::from_bytes(*b"nobody asked"))?;
    failed_with(refusal(&actor)?, Errno::EPROTO)?;
    check_eq!(stage.echo(&actor, b"still works")?, b"still works");
    Ok(())
}

pub fn second_reply_is_a_protocol_error(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    let _request = take(&server)?;
    reply(&server, 0, &Parcel::from_bytes(*b"first"))?;
    check_eq!(pending(&server)?, [Return::TransactionComplete]);
    reply(&server, 0, &Parcel::from_bytes(*b"second"))?;
    failed_with(refusal(&server)?, Errno::EPROTO)?;
    let returns = pending(&client)?;
    check_matches!(returns[..], [Return::TransactionComplete, Return::Reply(r)] if r.data_size == 5);
    Ok(())
}

pub fn reply_to_a_oneway_call_is_a_protocol_error(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, TF_ONE_WAY, &Parcel::new())?;
    let _request = take(&server)?;
    reply(&server, 0, &Parcel::new())?;
    failed_with(refusal(&server)?, Errno::EPROTO)?;
    check_eq!(pending(&client)?, [Return::TransactionComplete]);
    Ok(())
}

pub fn client_cannot_reply_while_it_waits(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    reply(&client, 0, &Parcel::new())?;
    let mut returns = pending(&client)?;
    returns.retain(|entry| *entry != Return::TransactionComplete);
    check_eq!(returns, [Return::FailedReply]);
    check_eq!(client.device().extended_error()?.param, -(Errno::EPROTO as i32));
    let _request = take(&server)?;
    reply(&server, 0, &Parcel::new())?;
    check_matches!(client.next_reply(limits::wait()), Ok(_));
    Ok(())
}

pub fn call_while_a_call_is_outstanding_is_a_protocol_error(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::from_bytes(*b"first"))?;
    send(&client, handle, 2, 0, &Parcel::from_bytes(*b"second"))?;
    let returns = pending(&client)?;
    check!(returns.contains(&Return::FailedReply), "the second call fails, not {returns:?}");
    check_eq!(client.device().extended_error()?.param, -(Errno::EPROTO as i32));
    let request = take(&server)?;
    check_eq!(request.data(), b"first");
    reply(&server, 0, &Parcel::from_bytes(*b"to the first"))?;
    let (answer, _) = client.next_reply(limits::wait())?;
    check_eq!(answer.data(), b"to the first");
    request.free()?;
    check_eq!(pending(&server)?, [Return::TransactionComplete]);
    Ok(())
}

pub fn oneway_call_is_allowed_while_a_call_is_outstanding(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    send(&client, handle, 2, TF_ONE_WAY, &Parcel::new())?;
    let returns = pending(&client)?;
    check_eq!(returns, [Return::TransactionComplete, Return::TransactionComplete]);
    let request = take(&server)?;
    check_eq!(request.incoming().code, 1);
    reply(&server, 0, &Parcel::new())?;
    check_matches!(client.next_reply(limits::wait()), Ok(_));
    check_eq!(take(&server)?.incoming().code, 2);
    Ok(())
}

pub fn another_thread_cannot_send_the_reply(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    let _request = take(&server)?;
    let other = server.clone();
    let seen = Worker::spawn()?.run(move || {
        let other = Session::primed(other.device())?;
        reply(&other, 0, &Parcel::new())?;
        refusal(&other)
    })?;
    failed_with(seen, Errno::EPROTO)?;
    reply(&server, 0, &Parcel::from_bytes(*b"mine"))?;
    check_eq!(client.next_reply(limits::wait())?.0.data(), b"mine");
    Ok(())
}

pub fn call_with_an_undelivered_request_first_is_a_protocol_error(
    env: &Env,
) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    let sleeper = Worker::spawn()?;
    // A second file description without O_NONBLOCK would be another process:
    // make this one block.
    set_nonblock(&server, false)?;
    let session = server.clone();
    sleeper.run(move || Ok(Session::primed(session.device()).map(drop)?))?;
    let session = server.clone();
    let read = sleeper.start(move || session.write_read(&Commands::new(), 8))?;
    sleeper.wait_asleep()?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    let outcome = read.wait()?;
    set_nonblock(&server, true)?;
    check_eq!(outcome.ok()?, [], "no request fits into 8 bytes");
    let session = server.clone();
    let returns = sleeper.run(move || {
        send(&session, 0, 1, 0, &Parcel::new())?;
        let returns = pending(&session)?;
        Ok((returns, session.device().extended_error()?.param))
    })?;
    check_matches!(returns.0[..], [Return::Transaction(_), Return::FailedReply]);
    check_eq!(returns.1, -(Errno::EPROTO as i32));
    Ok(())
}

pub fn manager_cannot_call_itself(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    become_manager(session.device())?;
    for flags in [0, TF_ONE_WAY] {
        send(&session, 0, 1, flags, &Parcel::new())?;
        check_eq!(session.read(limits::wait())?, [Return::FailedReply]);
        let extended = session.device().extended_error()?;
        check_eq!(extended.param, -(Errno::EINVAL as i32));
    }
    Ok(())
}

pub fn manager_cannot_call_itself_through_another_file(env: &Env) -> Result<(), Failure> {
    let manager = env.session()?;
    become_manager(manager.device())?;
    let other = actor_on(&env.device, Some(4096))?;
    failed_with(refused(&other, 0, 0, &Parcel::new())?, Errno::EINVAL)?;
    failed_with(refused(&other, 0, TF_ONE_WAY, &Parcel::new())?, Errno::EINVAL)
}
