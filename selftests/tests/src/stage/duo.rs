// SPDX-License-Identifier: GPL-2.0
//! An owner of nodes and one who receives them.

use binder_client::commands::Commands;
use binder_client::ktap::Failure;
use binder_client::object::{Object, Strength};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{ExtendedError, TF_ONE_WAY};

use super::{acknowledge, pending, refused, take, Node, Stage};

/// The node by which the owner reaches the receiver.
const INBOX: Node = Node::new(0xf000, 0xf001);

/// Two actors; the owner can send to the receiver.
#[derive(Debug)]
pub struct Duo {
    /// Sends nodes.
    pub owner: Session,
    /// Receives them.
    pub client: Session,
    /// The owner's handle of the receiver.
    pub inbox: u32,
}

impl Duo {
    /// Two new actors. The receiver holds no handle.
    pub fn new(stage: &Stage) -> Result<Self, Failure> {
        let (owner, client) = (stage.actor()?, stage.actor()?);
        let inbox = stage.introduce(&client, &owner, INBOX)?;
        Ok(Duo { owner, client, inbox })
    }

    /// Sends a parcel from the owner oneway; returns what that tells the owner.
    pub fn give(&self, parcel: &Parcel) -> Result<Vec<Return>, Failure> {
        let mut commands = Commands::new();
        commands.transaction(self.inbox, 1, TF_ONE_WAY, parcel);
        self.owner.write(&commands)?;
        pending(&self.owner)
    }

    /// As [`Duo::give`], which must fail.
    pub fn give_refused(&self, parcel: &Parcel) -> Result<(Return, ExtendedError), Failure> {
        refused(&self.owner, self.inbox, TF_ONE_WAY, parcel)
    }

    /// Gives nodes, confirms them, and lets the receiver take one reference to each.
    pub fn hand_over(&self, nodes: &[Node], strength: Strength) -> Result<Vec<u32>, Failure> {
        let mut parcel = Parcel::new();
        for node in nodes {
            parcel.object(&node.object(strength));
        }
        acknowledge(&self.owner, &self.give(&parcel)?)?;
        let received = take(&self.client)?;
        let mut handles = Vec::new();
        let mut commands = Commands::new();
        for object in received.objects()? {
            let Object::Handle { strength, handle, .. } = object else {
                return Err(Failure::new(
                    "a node that was sent",
                    "a handle",
                    format!("{object:?}"),
                ));
            };
            commands.take_ref(strength, handle);
            handles.push(handle);
        }
        self.client.write(&commands)?;
        received.free()?;
        Ok(handles)
    }

    /// As [`Duo::hand_over`] with one strong node.
    pub fn hand_over_one(&self, node: Node) -> Result<u32, Failure> {
        Ok(self.hand_over(&[node], Strength::Strong)?[0])
    }

    /// Commands of the receiver that change its references; nothing comes of
    /// them for the receiver itself.
    pub fn change<'p>(
        &self,
        build: impl for<'c> FnOnce(&'c mut Commands<'p>) -> &'c mut Commands<'p>,
    ) -> Result<(), Failure> {
        let mut commands = Commands::new();
        build(&mut commands);
        Ok(self.client.write(&commands)?)
    }
}
