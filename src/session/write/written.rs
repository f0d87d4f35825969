//! The changes of an explicit transaction: in memory while they are few, in an open write of the
//! record file when they are many. So the memory of a transaction has a bound.
//!
//! What must hold: the transaction has the write turn, and no layer is frozen while it writes the
//! record file. Then no checkpoint can begin, and nothing else writes the file.

use crate::error::{Error, Result};
use crate::records::{
    Change, FileTurn, Finished, PausedTurn, ReadSource, Turn, TurnResult, WriteTransaction,
};
use crate::session::engine::Engine;
use crate::value::guarded;

/// What a transaction has changed.
pub(in crate::session) enum Written {
    /// Few changes, which become a record of the journal.
    Memory(Box<Turn>),
    /// Many changes, in the record file. Others see them when they are committed.
    File(Box<InFile>),
}

/// The changes in an open write of the record file.
pub(in crate::session) struct InFile {
    /// What is not in the write yet; after a failure, which lost it, the failure. Dropped first.
    paused: Result<PausedTurn>,
    transaction: WriteTransaction,
}

/// A transaction that is ready for its commit.
pub(in crate::session) enum Ready {
    /// In memory.
    Memory(Box<TurnResult>),
    /// In the record file.
    File(Box<WriteTransaction>, Finished),
}

impl Written {
    /// Begins a transaction over the last commit. Only the holder of the write turn may call it.
    pub(in crate::session) fn open(engine: &Engine) -> Self {
        Self::Memory(Box::new(engine.open_turn()))
    }

    /// Calls `f` with the last commit and the changes.
    ///
    /// # Errors
    /// Those of `f`, and those of an open write.
    pub(in crate::session) fn read<T>(
        &mut self,
        attempt: &str,
        f: impl FnOnce(ReadSource<'_>) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Memory(turn) => guarded(attempt, || f(ReadSource::Turn(turn))),
            Self::File(file) => file.with_turn(attempt, |turn| f(ReadSource::File(turn))),
        }
    }

    /// Applies changes in order. When they are too many for the journal, they go into the record
    /// file.
    ///
    /// # Errors
    /// Those of a write: the transaction can then only end without a change.
    pub(in crate::session) fn apply(
        &mut self,
        engine: &Engine,
        changes: Vec<Change>,
    ) -> Result<()> {
        match self {
            Self::Memory(turn) => {
                let file = guarded("writing", || {
                    turn.apply(changes);
                    turn.is_large().then(|| InFile::begin(engine, turn)).transpose()
                })?;
                if let Some(file) = file {
                    *self = Self::File(Box::new(file));
                }
                Ok(())
            }
            Self::File(file) => file.with_turn("writing", |turn| turn.apply(changes)),
        }
    }

    /// Ends the transaction with the rows `last`; its commit remains.
    ///
    /// # Errors
    /// Those of a write.
    pub(in crate::session) fn finish(self, engine: &Engine, last: Vec<Change>) -> Result<Ready> {
        match self {
            Self::Memory(mut turn) => {
                turn.apply(last);
                Ok(Ready::Memory(Box::new(turn.finish())))
            }
            Self::File(file) => guarded("finishing a transaction", || {
                let InFile { paused, transaction } = *file;
                let mut turn = FileTurn::resume(&transaction, paused?)?;
                turn.apply(last)?;
                turn.set_pass(engine.begin_pass()?)?;
                let finished = turn.finish()?;
                Ok(Ready::File(Box::new(transaction), finished))
            }),
        }
    }
}

impl InFile {
    /// Puts the changes of `turn`, and those that the record file lacks, into a write of it.
    fn begin(engine: &Engine, turn: &Turn) -> Result<Self> {
        engine.move_layers()?;
        let transaction = engine.begin()?;
        let mut file = FileTurn::open(&transaction, engine.snapshot().base().clone());
        file.apply_layer(turn.active())?;
        Ok(Self { paused: Ok(file.pause()?), transaction })
    }

    /// Runs `f` with the tables open. A panic in `f` is caught before they are closed.
    fn with_turn<T>(
        &mut self,
        attempt: &str,
        f: impl FnOnce(&mut FileTurn<'_>) -> Result<T>,
    ) -> Result<T> {
        let lost = || Error::corrupt("internal error: the changes of a transaction were lost");
        let paused = std::mem::replace(&mut self.paused, Err(lost()));
        let (made, paused) = match paused
            .and_then(|paused| guarded(attempt, || FileTurn::resume(&self.transaction, paused)))
        {
            Ok(mut turn) => (guarded(attempt, || f(&mut turn)), turn.pause()),
            Err(error) => (Err(error.clone()), Err(error)),
        };
        self.paused = paused;
        made
    }
}

impl Ready {
    /// Makes the transaction durable and publishes it as the commit `sequence`.
    ///
    /// # Errors
    /// As [`Engine::commit`]; the latch is then set.
    pub(in crate::session) fn commit(self, engine: &Engine, sequence: u64) -> Result<()> {
        engine.latching("committing", || match self {
            Self::Memory(made) => engine.commit(*made, sequence, None),
            Self::File(written, finished) => engine.commit_file(*written, finished, sequence),
        })
    }
}
