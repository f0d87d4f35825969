//! Subscribers of the change feed: durable positions by owner and name.
//!
//! The log is kept for subscribers, so each one costs the store, and whoever moves a subscriber
//! decides what its reader finds. So each user has its own names, and no call of one user depends
//! on the names of another. Subscribers that the host registers have no owner.
//!
//! Reading the feed needs no subscriber; each caller gets the events that it may see.

use super::hold::{HoldBounds, HoldStatus};
use super::position::Position;
use super::subscriber_row::{SUBSCRIBER, SubscriberRow, key_of, parts_of};
use super::sync_point::SyncPoint;
use crate::error::{Error, ErrorKind, Result};
use crate::model::REGISTRY;
use crate::records::Space;
use crate::session::access::context::Context;
use crate::session::access::identity::Visibility;
use crate::session::access::sessions::{Access, Session};
use crate::session::write::draft::Draft;
use crate::value::limits::{
    SUBSCRIBER_NAME_BYTES, SUBSCRIBER_OWNER_BYTES, SUBSCRIBERS, SUBSCRIBERS_PER_OWNER,
};
use crate::value::{Action, Service};

/// A registered subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscriber {
    /// Its name; another owner may have one with the same name.
    pub name: String,
    /// The user id of the owner; `None` if the host of the store registered it.
    pub owner: Option<String>,
    /// All commits up to this position were handled; in a full pass, the position at which the pass
    /// began.
    pub position: Position,
    /// Whether it is in the middle of a full pass.
    pub is_in_pass: bool,
    /// Its bounds: its own, or those of the store's settings.
    pub bounds: HoldBounds,
    /// What it holds of the change log, and how far it is from losing its position.
    pub hold: HoldStatus,
}

/// The subscriber of a call: given by name, or as a [`Subscriber`] from a list.
///
/// A name means a subscriber of the caller. For the host of the store, it means the one without
/// owner; so it does for an unrestricted identity that has none of this name. A `&Subscriber` means
/// exactly that one, whoever owns it.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::{Identity, Store};
///
/// let store = Store::open(dir.path())?;
/// store.session(Identity::user("ada")).register_subscriber("replica")?;
// The host has no subscriber of this name, so this changes nothing: ada's stays.
/// store.unregister("replica")?;
/// for subscriber in store.subscribers()? {
///     assert_eq!((subscriber.name.as_str(), subscriber.owner.as_deref()), ("replica", Some("ada")));
///     store.unregister(&subscriber)?;
/// }
/// assert!(store.subscribers()?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriberRef<'a> {
    /// `None`: the one that the name means for the caller.
    owner: Option<Option<&'a str>>,
    name: &'a str,
}

impl<'a> From<&'a str> for SubscriberRef<'a> {
    fn from(name: &'a str) -> Self {
        Self { owner: None, name }
    }
}

impl<'a> From<&'a String> for SubscriberRef<'a> {
    fn from(name: &'a String) -> Self {
        name.as_str().into()
    }
}

impl<'a> From<&'a Subscriber> for SubscriberRef<'a> {
    fn from(subscriber: &'a Subscriber) -> Self {
        Self { owner: Some(subscriber.owner.as_deref()), name: &subscriber.name }
    }
}

/// A [`SubscriberRef`] with owned strings, for a write that waits for its turn.
#[derive(Clone, Debug)]
pub(crate) struct OwnedSubscriberRef {
    owner: Option<Option<String>>,
    name: String,
}

impl From<SubscriberRef<'_>> for OwnedSubscriberRef {
    fn from(of: SubscriberRef<'_>) -> Self {
        Self { owner: of.owner.map(|owner| owner.map(str::to_owned)), name: of.name.to_owned() }
    }
}

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A session; the policy decides by its identity.
    Session,
    /// The holder of the store; the policy is not asked.
    Host,
}

/// The subscribers that a caller may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Only those that it owns.
    Own,
    /// All.
    All,
}

impl Caller {
    /// Asks the policy which subscribers the caller may use for `action`. Subscribers belong to no
    /// workspace, so only a grant for all workspaces counts.
    fn reach(self, context: &Context, action: Action) -> Result<Reach> {
        let is_everywhere =
            |service, action| context.visibility(service, action) == Visibility::All;
        if self == Self::Host {
            return Ok(Reach::All);
        }
        if !is_everywhere(Service::CHANGES, action) {
            let denied = format!(
                "{:?} may not {action:?} a subscriber of the change feed: that needs {action:?} of \
                 {} in every workspace",
                context.user(),
                Service::CHANGES
            );
            return Err(Error::new(ErrorKind::PermissionDenied, denied));
        }
        let sees_all = REGISTRY.iter().all(|known| is_everywhere(known.kind.service, Action::Read));
        Ok(if sees_all { Reach::All } else { Reach::Own })
    }

    /// The keys that the caller may mean, in the order in which they are looked up; a new
    /// subscriber gets the first. They depend only on the call and the policy, and never on stored
    /// subscribers: otherwise an answer could reveal that another user has one.
    fn keys(
        self,
        context: &Context,
        action: Action,
        of: &OwnedSubscriberRef,
    ) -> Result<Vec<Vec<u8>>> {
        let reach = self.reach(context, action)?;
        let (own, nobodys) = (key_of(Some(context.user()), &of.name), key_of(None, &of.name));
        match (&of.owner, self, reach) {
            (None, Self::Host, _) => Ok(vec![nobodys]),
            (None, Self::Session, Reach::All) => Ok(vec![own, nobodys]),
            (None, Self::Session, Reach::Own) => Ok(vec![own]),
            (Some(owner), _, Reach::All) => Ok(vec![key_of(owner.as_deref(), &of.name)]),
            (Some(Some(owner)), _, Reach::Own) if owner == context.user() => Ok(vec![own]),
            (Some(_), _, Reach::Own) => Err(Error::new(
                ErrorKind::PermissionDenied,
                format!(
                    "{:?} may {action:?} only its own subscribers of the change feed: others need \
                     Read of every service, in every workspace",
                    context.user()
                ),
            )),
        }
    }
}

impl Session {
    /// Registers a subscriber of the session's user under `name` at the end of the feed, and
    /// returns its position. If it is registered already, returns the position that it has.
    ///
    /// From then on the log is kept for it, until a bound of the store's settings is reached
    /// ([`Settings::subscriber_hold_ms`](crate::Settings::subscriber_hold_ms), `…_bytes`); see
    /// [`Session::register_subscriber_with`] for bounds of its own. The user of the session owns
    /// it: only sessions of this user, those of unrestricted identities, and the host of the store
    /// can read, move or remove it. Other users may have subscribers of the same name, and learn
    /// nothing about this one.
    ///
    /// To register a subscriber, the policy must let the identity do [`Action::Create`] with
    /// [`Service::CHANGES`] in all workspaces. To move it, that is [`Action::Update`]; to remove
    /// it, [`Action::Delete`]; to list it, [`Action::Read`]. An identity that may also read every
    /// service in all workspaces is unrestricted. If it owns no subscriber of this name, but one
    /// without owner exists, it finds that one.
    ///
    /// # Errors
    /// `Conflict` when the log no longer reaches back to the position that it has, and when it is
    /// in the middle of a full pass: go on with [`Session::synchronise_subscriber`], or read the
    /// resources anew, and move it to the position from before. `PermissionDenied` when the policy
    /// refuses; `LimitExceeded` for a new name of more than `SUBSCRIBER_NAME_BYTES`, an owner of
    /// more than `SUBSCRIBER_OWNER_BYTES`, more than `SUBSCRIBERS_PER_OWNER` of the user, and more
    /// than `SUBSCRIBERS` in all; the errors of any write.
    pub fn register_subscriber(&self, name: &str) -> Result<Position> {
        self.register_as(Caller::Session, name, None)?
    }

    /// [`Session::register_subscriber`] with bounds of its own: the log is kept for the subscriber,
    /// also beyond the entries that the store keeps for everybody, until one of the bounds is
    /// reached. If it is registered already, it gets these bounds, also when it needs a full pass.
    /// That takes [`Action::Update`] as well.
    ///
    /// [`Subscriber::hold`] tells what it holds and when that ends, and so does
    /// [`SyncStream::hold`](crate::SyncStream::hold).
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{HoldBounds, HoldState, Identity, Store};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let week_ms = 7 * 24 * 3_600_000;
    /// session.register_subscriber_with("replica", HoldBounds::new(week_ms, 64 << 20))?;
    /// let subscriber = &session.subscribers()?[0];
    /// assert_eq!(subscriber.bounds.hold_ms, week_ms);
    /// assert_eq!((subscriber.hold.state, subscriber.hold.bytes), (HoldState::Held, 0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Session::register_subscriber`]; `LimitExceeded` for bounds above `SUBSCRIBER_HOLD_MS`
    /// and `SUBSCRIBER_HOLD_BYTES`.
    pub fn register_subscriber_with(&self, name: &str, bounds: HoldBounds) -> Result<Position> {
        self.register_as(Caller::Session, name, Some(bounds))?
    }

    /// The subscribers that the session may use, by owner and name: those of its user, or all for
    /// an unrestricted identity.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Identity, Store};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let position = session.register_subscriber("replica")?;
    /// assert_eq!(session.subscribers()?[0].position, position);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `PermissionDenied` when the policy refuses, see [`Session::register_subscriber`]; `Corrupt`
    /// when a position is damaged; errors of the disk.
    pub fn subscribers(&self) -> Result<Vec<Subscriber>> {
        self.subscribers_as(Caller::Session)
    }

    /// Moves a registered subscriber forward: to a position, or to the point of a stream of
    /// [`Session::synchronise_subscriber`]. Durable when this returns.
    ///
    /// # Errors
    /// `PermissionDenied` when the policy refuses, see [`Session::register_subscriber`]; `NotFound`
    /// when the caller has no subscriber of this name; `InvalidArgument` when the position is
    /// before the subscriber's, or after the last commit.
    pub fn advance_subscriber<'a>(
        &self,
        subscriber: impl Into<SubscriberRef<'a>>,
        to: impl Into<SyncPoint>,
    ) -> Result<()> {
        self.advance_as(Caller::Session, subscriber.into(), to.into())
    }

    /// Removes a subscriber; does nothing if the caller has none of this name.
    ///
    /// # Errors
    /// `PermissionDenied` when the policy refuses, see [`Session::register_subscriber`]; the errors
    /// of any write.
    pub fn remove_subscriber<'a>(&self, subscriber: impl Into<SubscriberRef<'a>>) -> Result<()> {
        self.remove_as(Caller::Session, subscriber.into())
    }

    /// Returns the position, or the refusal of a subscriber that needs a full pass. That is no
    /// error of the write, which keeps the bounds.
    pub(crate) fn register_as(
        &self,
        caller: Caller,
        name: &str,
        bounds: Option<HoldBounds>,
    ) -> Result<RegistrationResult> {
        let (last, of) = (self.position(), OwnedSubscriberRef::from(SubscriberRef::from(name)));
        bounds.map_or(Ok(()), HoldBounds::check)?;
        self.write(move |draft| {
            let keys = caller.keys(draft.context(), Action::Create, &of)?;
            let with_bounds = |mut row: SubscriberRow| {
                if let Some(bounds) = bounds {
                    row.hold_ms = Some(bounds.hold_ms);
                    row.hold_bytes = Some(bounds.hold_bytes);
                }
                row
            };
            if let Some((key, stored)) = find(&keys, |key| draft.raw(Space::Positions, key))? {
                let key = key.clone();
                let row = with_bounds(stored.clone());
                if row != stored {
                    caller.keys(draft.context(), Action::Update, &of)?;
                    draft.put_raw(Space::Positions, key.clone(), row.sealed(&key)?);
                }
                return Ok(match draft.view().check_log_reaches(row.position) {
                    Err(error) if error.kind() == ErrorKind::Conflict => Err(error),
                    Err(error) => return Err(error),
                    Ok(()) if row.pass_after.is_some() => Err(Error::conflict(format!(
                        "the subscriber {} is in the middle of a full pass; go on with \
                         `synchronise_subscriber`",
                        shown(&of.name)
                    ))),
                    Ok(()) => Ok(row.position()),
                });
            }
            let Some(key) = keys.into_iter().next() else { return Ok(Ok(last)) };
            check_room(draft, &key)?;
            let row = with_bounds(SubscriberRow::at(last)).sealed(&key)?;
            draft.put_raw(Space::Positions, key, row);
            Ok(Ok(last))
        })
    }

    pub(crate) fn advance_as(
        &self,
        caller: Caller,
        of: SubscriberRef<'_>,
        to: SyncPoint,
    ) -> Result<()> {
        let (last, of) = (self.position(), OwnedSubscriberRef::from(of));
        self.write(move |draft| {
            let keys = caller.keys(draft.context(), Action::Update, &of)?;
            let name = shown(&of.name);
            let position = to.position;
            if position > last {
                return Err(Error::invalid(format!(
                    "the last commit is {}, so the subscriber {name} cannot have read up to {}",
                    last.0, position.0
                )));
            }
            let Some((key, stored)) = find(&keys, |key| draft.raw(Space::Positions, key))? else {
                return Err(absent(&of));
            };
            if position < stored.position() {
                return Err(Error::invalid(format!(
                    "the subscriber {name} is at {} and cannot go back to {}",
                    stored.position, position.0
                )));
            }
            let row = stored.moved(to).sealed(key)?;
            draft.put_raw(Space::Positions, key.clone(), row);
            Ok(())
        })
    }

    /// The row of a subscriber, and what it holds.
    pub(crate) fn subscriber_as(
        &self,
        caller: Caller,
        of: &OwnedSubscriberRef,
    ) -> Result<(SubscriberRow, HoldStatus)> {
        self.read(|view| {
            let keys = caller.keys(view.context(), Action::Read, of)?;
            let found = find(&keys, |key| view.raw(Space::Positions, key))?;
            let (_, row) = found.ok_or_else(|| absent(of))?;
            let hold = view.hold_of(&row)?;
            Ok((row, hold))
        })
    }

    pub(crate) fn remove_as(&self, caller: Caller, of: SubscriberRef<'_>) -> Result<()> {
        let of = OwnedSubscriberRef::from(of);
        self.write(move |draft| {
            for key in caller.keys(draft.context(), Action::Delete, &of)? {
                // A damaged row is removed like any other, so it is not decoded.
                if draft.raw(Space::Positions, &key)?.is_some() {
                    draft.delete_raw(Space::Positions, key);
                    break;
                }
            }
            Ok(())
        })
    }

    pub(crate) fn subscribers_as(&self, caller: Caller) -> Result<Vec<Subscriber>> {
        self.read(|view| {
            let prefix = match caller.reach(view.context(), Action::Read)? {
                Reach::All => SUBSCRIBER.to_vec(),
                Reach::Own => key_of(Some(view.context().user()), ""),
            };
            let stored = view.raw_prefix(Space::Positions, &prefix)?;
            let subscriber = |(key, row): (Vec<u8>, Vec<u8>)| {
                let (owner, name) = parts_of(&key);
                let row = SubscriberRow::open(&key, &row)?;
                Ok(Subscriber {
                    name,
                    owner,
                    position: row.position(),
                    is_in_pass: row.pass_after.is_some(),
                    bounds: HoldBounds::of(&row, view.context().settings()),
                    hold: view.hold_of(&row)?,
                })
            };
            stored.into_iter().map(subscriber).collect()
        })
    }
}

/// The first of the keys that exists, and its row.
fn find(
    keys: &[Vec<u8>],
    raw: impl Fn(&[u8]) -> Result<Option<Vec<u8>>>,
) -> Result<Option<(&Vec<u8>, SubscriberRow)>> {
    for key in keys {
        if let Some(row) = raw(key)? {
            return Ok(Some((key, SubscriberRow::open(key, &row)?)));
        }
    }
    Ok(None)
}

/// What a registration returns: a position, or why there is none.
pub(crate) type RegistrationResult = std::result::Result<Position, Error>;

fn absent(of: &OwnedSubscriberRef) -> Error {
    Error::new(ErrorKind::NotFound, format!("no subscriber is registered as {}", shown(&of.name)))
}

/// A name as it is shown in a message. Stores from before the bound may have names of megabytes.
fn shown(name: &str) -> String {
    if name.len() > SUBSCRIBER_NAME_BYTES {
        format!("with a name of {} bytes", name.len())
    } else {
        format!("{name:?}")
    }
}

/// Returns `LimitExceeded` for a new subscriber beyond the bounds.
fn check_room(draft: &Draft<'_>, key: &[u8]) -> Result<()> {
    let (owner, name) = parts_of(key);
    if name.len() > SUBSCRIBER_NAME_BYTES {
        return Err(Error::limit(format!(
            "the name of the subscriber has {} bytes; SUBSCRIBER_NAME_BYTES allows \
             {SUBSCRIBER_NAME_BYTES}",
            name.len()
        )));
    }
    if let Some(owner) = owner {
        if owner.len() > SUBSCRIBER_OWNER_BYTES {
            return Err(Error::limit(format!(
                "the user id that would own the subscriber has {} bytes; SUBSCRIBER_OWNER_BYTES \
                 allows {SUBSCRIBER_OWNER_BYTES}",
                owner.len()
            )));
        }
        if is_full(draft, &key_of(Some(&owner), ""), SUBSCRIBERS_PER_OWNER)? {
            return Err(Error::limit(format!(
                "{owner:?} has as many subscribers as SUBSCRIBERS_PER_OWNER allows \
                 ({SUBSCRIBERS_PER_OWNER}); remove one that is no longer used"
            )));
        }
    }
    if is_full(draft, SUBSCRIBER, SUBSCRIBERS)? {
        return Err(Error::limit(format!(
            "the store has as many subscribers as SUBSCRIBERS allows ({SUBSCRIBERS}); remove one \
             that is no longer used"
        )));
    }
    Ok(())
}

/// Whether at least `most` subscribers have keys that start with `prefix`.
fn is_full(draft: &Draft<'_>, prefix: &[u8], most: usize) -> Result<bool> {
    let mut cursor = draft.view().cursor(Space::Positions, prefix)?;
    let mut count = 0;
    while count < most && cursor.visit(false, |_, _| ())?.is_some() {
        count += 1;
    }
    Ok(count >= most)
}
