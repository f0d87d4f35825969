//! The change feed, by polling.

use stationdb::serde_json::json;
use stationdb::{Error, Position};

use crate::changes::Changes;
use crate::control::timeout;
use crate::functions::texts;
use crate::memory::Out;
use crate::registry::{self, Object};

fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

export! {
    fn sdb_position(session: u64, position: Out<i64>) {
        position.begin("position", 0)?;
        let begun = registry::session(session)?.begin(None)?;
        position.set(count(begun.session()?.position().0));
        Ok(())
    }

    fn sdb_changes(session: u64, since: i64, changes: Out<u64>) {
        changes.begin("changes", 0)?;
        let caller = registry::session(session)?;
        let begun = caller.begin(None)?;
        let session = begun.session()?;
        let since = match u64::try_from(since) {
            Ok(since) => Position(since),
            Err(_) if since == -1 => session.position(),
            Err(_) => {
                return Err(Error::invalid(format!(
                    "since is {since}; it is a position, or -1 for changes from now on"
                ))
                .into());
            }
        };
        let found = Changes::new(&caller.open, session.changes(since));
        changes.set(registry::put(Object::Changes(found))?);
        Ok(())
    }

    fn sdb_changes_next(changes: u64, timeout_ms: i64, change: Out<u64>, position: Out<i64>) {
        change.begin("change", 0)?;
        position.begin("position", 0)?;
        let found = registry::changes(changes)?;
        let wait = timeout("timeout_ms", timeout_ms)?.ok_or_else(|| {
            Error::invalid("timeout_ms is -1; a wait has an end, so that its caller can poll")
        })?;
        if let Some((event, at)) = found.next(wait)? {
            position.set(count(at));
            change.set(texts::put_json(&json!(event))?);
        }
        Ok(())
    }
}
