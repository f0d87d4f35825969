//! One root of a lake, and who publishes to it.

use std::collections::BTreeSet;

use object_store::path::Path;
use stationdb::{Control, Error, Position, Result, Session};

use crate::checks::{Check, is_off};
use crate::layout::Layout;
use crate::log::LakeLog;
use crate::names::{BATCHES, is_rows};
use crate::position::{self, LakePosition};
use crate::remote::Remote;
use crate::source::{self, SourceChanges};

/// A root, and who publishes to it.
#[derive(Clone, Copy)]
pub(crate) struct Root<'a> {
    pub remote: &'a Remote,
    pub layout: &'a dyn Layout,
    pub station: &'a str,
    pub app: &'a str,
    pub path: &'a Path,
    /// Over one snapshot.
    pub session: &'a Session,
    /// Over the store as it is now.
    pub live: &'a Session,
}

impl Root<'_> {
    pub(crate) fn open(&self, name: &str, control: &Control) -> Result<LakeLog> {
        LakeLog::open(self.remote, self.path, name, self.app, control)
    }

    pub(crate) fn open_batches(&self, control: &Control) -> Result<LakeLog> {
        self.open(BATCHES, control)
    }

    /// The lake tables with rows of the store: those that `batches` names, because a list may be
    /// out of date. Where it names none, an earlier version may have published, and a list helps.
    pub(crate) fn lake_tables(
        &self,
        batches: &LakeLog,
        control: &Control,
    ) -> Result<BTreeSet<String>> {
        let named = position::tables(batches, self.app);
        if !named.is_empty() && !is_off(Check::NamedTables) {
            return Ok(named);
        }
        let listed = self.remote.names(self.path, control)?;
        Ok(listed.into_iter().filter(|name| is_rows(name)).collect())
    }

    /// Refuses a store that has another name in the lake, and a name of another store.
    ///
    /// # Errors
    /// `Conflict`.
    pub(crate) fn check_station(&self, batches: &LakeLog) -> Result<()> {
        if is_off(Check::OneStation) {
            Ok(())
        } else {
            batches.stations.check(self.app, self.station)
        }
    }

    /// Whether the lake has commits of the store that the snapshot lacks: another publisher of the
    /// station took a later one.
    pub(crate) fn is_overtaken(&self, position: &LakePosition) -> bool {
        let known = position.sequence.unwrap_or_default();
        known > self.session.position().0 && known <= self.live.position().0
    }

    /// Refuses a store that is not the one, or not at the state, that the lake has the position of.
    ///
    /// # Errors
    /// `Conflict`.
    pub(crate) fn check_history(&self, position: &LakePosition) -> Result<()> {
        let Some(sequence) = position.sequence.filter(|sequence| *sequence > 0) else {
            return Ok(());
        };
        let now = self.session.position().0;
        let how = "publish the store that the lake has the state of, or call rebase to send everything \
                   of this one again";
        if sequence > now && !is_off(Check::StoreBehind) {
            return Err(Error::conflict(format!(
                "the lake at {} has the station {} up to its commit {sequence}, and the store is at \
                 {now}: it was restored or copied; {how}",
                self.path, self.station
            )));
        }
        let Some(time) = position.time else { return Ok(()) };
        let own = source::time_of(self.session, sequence)?;
        if own.is_some_and(|own| own != time) && !is_off(Check::OtherHistory) {
            return Err(Error::conflict(format!(
                "commit {sequence} of the store is not the one that the lake at {} has of the station \
                 {}: the store was restored or copied; {how}",
                self.path, self.station
            )));
        }
        Ok(())
    }

    /// What changed since the position.
    pub(crate) fn news(&self, position: &LakePosition, control: &Control) -> Result<SourceChanges> {
        let Some(from) = position.sequence.filter(|sequence| *sequence > 0) else {
            return Ok(SourceChanges::everything("the lake has nothing of the station"));
        };
        let until = self.session.position();
        let from = Position(from);
        let news = source::news(self.session, self.layout, self.path, from, until, control)?;
        Ok(news.unwrap_or_else(|| {
            SourceChanges::everything(
                "the change log does not reach back to the position in the lake",
            )
        }))
    }
}
