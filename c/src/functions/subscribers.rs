//! Subscribers of the change feed, for which the store keeps its log, and trims of the log.

use stationdb::chrono::DateTime;
use stationdb::serde_json::{Value, json};
use stationdb::{Error, HoldBounds, Position, Subscriber};

use crate::failure::{Failure, Outcome};
use crate::functions::stores::control_of;
use crate::functions::texts;
use crate::memory::{In, Out};
use crate::registry;

fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A bound of a hold; -1 for that of the store.
fn bound(what: &str, given: i64) -> Outcome<Option<u64>> {
    match u64::try_from(given) {
        Ok(given) => Ok(Some(given)),
        Err(_) if given == -1 => Ok(None),
        Err(_) => Err(Error::invalid(format!(
            "{what} is {given}; give a number that is not negative, or -1 for that of the store"
        ))
        .into()),
    }
}

fn told(subscriber: &Subscriber) -> Value {
    json!({
        "name": subscriber.name,
        "owner": subscriber.owner,
        "position": subscriber.position.0,
        "isInPass": subscriber.is_in_pass,
        "bounds": subscriber.bounds,
        "hold": subscriber.hold,
    })
}

export! {
    fn sdb_register_subscriber(
        session: u64,
        name: In<u8>,
        name_length: i64,
        hold_ms: i64,
        hold_bytes: i64,
        position: Out<i64>,
    ) {
        position.begin("position", 0)?;
        let name = name.text("name", name_length)?;
        let bounds = match (bound("hold_ms", hold_ms)?, bound("hold_bytes", hold_bytes)?) {
            (Some(hold_ms), Some(hold_bytes)) => Some(HoldBounds::new(hold_ms, hold_bytes)),
            (None, None) => None,
            _ => {
                return Err(Error::invalid(
                    "one of hold_ms and hold_bytes is -1; give both bounds, or -1 for both",
                )
                .into());
            }
        };
        let begun = registry::session(session)?.begin(None)?;
        let session = begun.session()?;
        let found = match bounds {
            Some(bounds) => session.register_subscriber_with(name, bounds)?,
            None => session.register_subscriber(name)?,
        };
        position.set(count(found.0));
        Ok(())
    }

    fn sdb_advance_subscriber(session: u64, name: In<u8>, name_length: i64, position: i64) {
        let name = name.text("name", name_length)?;
        let position = u64::try_from(position).map(Position).map_err(|_| {
            Failure::from(Error::invalid(format!("the position is {position}; it is negative")))
        })?;
        let begun = registry::session(session)?.begin(None)?;
        Ok(begun.session()?.advance_subscriber(name, position)?)
    }

    fn sdb_remove_subscriber(session: u64, name: In<u8>, name_length: i64) {
        let name = name.text("name", name_length)?;
        let begun = registry::session(session)?.begin(None)?;
        Ok(begun.session()?.remove_subscriber(name)?)
    }

    fn sdb_subscribers(session: u64, subscribers: Out<u64>) {
        subscribers.begin("subscribers", 0)?;
        let begun = registry::session(session)?.begin(None)?;
        let found = begun.session()?.subscribers()?;
        let found: Vec<Value> = found.iter().map(told).collect();
        subscribers.set(texts::put_json(&found)?);
        Ok(())
    }

    fn sdb_trim_changes(
        store: u64,
        before: In<u8>,
        before_length: i64,
        control: u64,
        entries: Out<i64>,
    ) {
        entries.begin("entries", 0)?;
        let before = before.text("before", before_length)?;
        let before = DateTime::parse_from_rfc3339(before).map_err(|error| {
            Failure::from(Error::invalid(format!(
                "the time {before:?}: {error}; write it as 2026-11-29T22:40:00Z"
            )))
        })?;
        let open = registry::store(store)?;
        let control = control_of(control)?;
        let call = open.call(Some(&control))?;
        entries.set(count(call.store.trim_changes(before.to_utc(), &control)?));
        Ok(())
    }
}
