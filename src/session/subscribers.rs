//! Subscribers of the change feed: durable positions by name.
//!
//! The log is kept for them, so they cost the store, and whoever moves one decides what another reader finds. A position is
//! stored without an owner: each belongs to nobody, and only a caller that the access policy restricts in nothing may use
//! them. Reading the feed itself takes no subscriber, and shows each caller what it may see.

use super::access::{Access, Session};
use super::context::Context;
use super::draft::Draft;
use super::identity::Visibility;
use super::position::Position;
use crate::error::{Error, ErrorKind, Result};
use crate::model::REGISTRY;
use crate::records::Space;
use crate::value::limits::{SUBSCRIBER_NAME_BYTES, SUBSCRIBERS};
use crate::value::{Action, Service};

/// What the key of a position begins with; the name follows.
pub(super) const SUBSCRIBER: &[u8] = b"subscriber ";

/// A registered subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// Its name.
    pub name: String,
    /// Everything up to here was handled.
    pub position: Position,
}

/// Who uses a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A session; the policy judges its identity.
    Session,
    /// Who holds the store: no policy is asked.
    Host,
}

impl Caller {
    /// Refuses with `PermissionDenied` unless the policy lets the caller do `action` with the change feed, and read every
    /// kind of resource, in all workspaces.
    fn require(self, context: &Context, action: Action) -> Result<()> {
        let is_everywhere = |service, action| context.visibility(service, action) == Visibility::All;
        let sees_all = || REGISTRY.iter().all(|registered| is_everywhere(registered.kind.service, Action::Read));
        if self == Self::Host || (is_everywhere(Service::CHANGES, action) && sees_all()) {
            return Ok(());
        }
        let denied = format!(
            "{:?} may not {action:?} a subscriber of the change feed: subscribers belong to nobody, so that takes {action:?} \
             of {} and Read of every service, in every workspace",
            context.user(),
            Service::CHANGES
        );
        Err(Error::new(ErrorKind::PermissionDenied, denied))
    }
}

impl Session {
    /// Registers a subscriber under `name` at the end of the feed, or finds the position that it has.
    ///
    /// From then on the log is kept for it, within the store's bound. Subscribers belong to nobody, so only an unrestricted
    /// identity may use them: one that the policy lets do [`Action::Create`] (to move one [`Action::Update`], to remove one
    /// [`Action::Delete`]) with [`Service::CHANGES`], and read every service, in all workspaces.
    ///
    /// # Errors
    /// `PermissionDenied` for a restricted identity; `LimitExceeded` for a new name of more than `SUBSCRIBER_NAME_BYTES`, and
    /// for more than `SUBSCRIBERS`; as any write.
    pub fn register_subscriber(&self, name: &str) -> Result<Position> {
        self.register_as(Caller::Session, name)
    }

    /// Moves a registered subscriber forward; durable when this returns.
    ///
    /// # Errors
    /// `PermissionDenied` for a restricted identity, see [`Session::register_subscriber`]; `NotFound` when no subscriber has
    /// this name; `InvalidArgument` when the position lies before the one it has, or behind the last commit.
    pub fn advance_subscriber(&self, name: &str, position: Position) -> Result<()> {
        self.advance_as(Caller::Session, name, position)
    }

    /// Removes a subscriber; nothing happens when there is none with this name.
    ///
    /// # Errors
    /// `PermissionDenied` for a restricted identity, see [`Session::register_subscriber`]; as any write.
    pub fn remove_subscriber(&self, name: &str) -> Result<()> {
        self.remove_as(Caller::Session, name)
    }

    pub(crate) fn register_as(&self, caller: Caller, name: &str) -> Result<Position> {
        let (key, name_bytes) = (key_of(name), name.len());
        let last = self.position();
        self.write(move |draft| {
            caller.require(draft.context(), Action::Create)?;
            if let Some(bytes) = draft.raw(Space::Positions, &key)? {
                return position_in(&bytes);
            }
            check_room(draft, name_bytes)?;
            draft.put_raw(Space::Positions, key, last.0.to_be_bytes().to_vec());
            Ok(last)
        })
    }

    pub(crate) fn advance_as(&self, caller: Caller, name: &str, position: Position) -> Result<()> {
        let (key, name) = (key_of(name), shown(name));
        let last = self.position();
        self.write(move |draft| {
            caller.require(draft.context(), Action::Update)?;
            if position > last {
                return Err(Error::invalid(format!(
                    "the last commit is {}, so the subscriber {name} cannot have read up to {}",
                    last.0, position.0
                )));
            }
            let Some(bytes) = draft.raw(Space::Positions, &key)? else {
                return Err(Error::new(ErrorKind::NotFound, format!("no subscriber is registered as {name}")));
            };
            let stored = position_in(&bytes)?;
            if position < stored {
                return Err(Error::invalid(format!(
                    "the subscriber {name} is at {} and cannot go back to {}",
                    stored.0, position.0
                )));
            }
            draft.put_raw(Space::Positions, key, position.0.to_be_bytes().to_vec());
            Ok(())
        })
    }

    pub(crate) fn remove_as(&self, caller: Caller, name: &str) -> Result<()> {
        let key = key_of(name);
        self.write(move |draft| {
            caller.require(draft.context(), Action::Delete)?;
            if draft.raw(Space::Positions, &key)?.is_some() {
                draft.delete_raw(Space::Positions, key);
            }
            Ok(())
        })
    }

    /// All subscribers, by name.
    pub(crate) fn all_subscribers(&self) -> Result<Vec<Subscriber>> {
        self.read(|view| {
            let stored = view.raw_prefix(Space::Positions, SUBSCRIBER)?;
            let subscriber = |(key, position): (Vec<u8>, Vec<u8>)| {
                let name = String::from_utf8_lossy(key.get(SUBSCRIBER.len()..).unwrap_or_default()).into_owned();
                Ok(Subscriber { name, position: position_in(&position)? })
            };
            stored.into_iter().map(subscriber).collect()
        })
    }
}

fn key_of(name: &str) -> Vec<u8> {
    [SUBSCRIBER, name.as_bytes()].concat()
}

fn position_in(bytes: &[u8]) -> Result<Position> {
    let sequence = <[u8; 8]>::try_from(bytes).map(u64::from_be_bytes);
    sequence.map(Position).map_err(|_| Error::corrupt("records.redb: the position of a subscriber is damaged"))
}

/// A name in a message. Stores from before the bound may have names of megabytes.
fn shown(name: &str) -> String {
    if name.len() > SUBSCRIBER_NAME_BYTES {
        format!("with a name of {} bytes", name.len())
    } else {
        format!("{name:?}")
    }
}

/// Refuses a new subscriber beyond the bounds.
fn check_room(draft: &Draft<'_>, name_bytes: usize) -> Result<()> {
    if name_bytes > SUBSCRIBER_NAME_BYTES {
        return Err(Error::limit(format!(
            "the name of the subscriber has {name_bytes} bytes; SUBSCRIBER_NAME_BYTES allows {SUBSCRIBER_NAME_BYTES}"
        )));
    }
    let mut cursor = draft.view().cursor(Space::Positions, SUBSCRIBER)?;
    let mut count = 0;
    while count < SUBSCRIBERS && cursor.visit(false, |_, _| ())?.is_some() {
        count += 1;
    }
    if count >= SUBSCRIBERS {
        return Err(Error::limit(format!(
            "the store has as many subscribers as SUBSCRIBERS allows ({SUBSCRIBERS}); remove one that nobody reads for any more"
        )));
    }
    Ok(())
}
