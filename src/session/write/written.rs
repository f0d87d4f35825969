//! The changes of an explicit transaction: in memory while they are few, in an open write of the
//! record file when they are many. So the memory of a transaction has a bound.
//!
//! What must hold: the transaction has the write turn, and no layer is frozen while it writes the
//! record file. Then no checkpoint can begin, and nothing else writes the file.

use std::cell::OnceCell;

use crate::error::{Error, Result};
use crate::records::{Change, FileTurn, Finished, ReadSource, Turn, TurnResult, WriteTransaction};
use crate::session::engine::Engine;
use crate::value::guarded;

/// Where the write of the record file is while a transaction has one. It outlives the changes.
pub(in crate::session) type FileSlot = OnceCell<WriteTransaction>;

/// What a transaction has changed.
pub(in crate::session) enum Written<'t> {
    /// Few changes, which become a record of the journal.
    Memory(Box<Turn>),
    /// Many changes, in the record file. Others see them when they are committed.
    File(Box<FileTurn<'t>>),
}

/// A transaction that is ready for its commit.
pub(in crate::session) enum Ready {
    /// In memory.
    Memory(Box<TurnResult>),
    /// In the record file, whose write is in the slot.
    File(Finished),
}

impl<'t> Written<'t> {
    /// Begins a transaction over the last commit. Only the holder of the write turn may call it.
    pub(in crate::session) fn open(engine: &Engine) -> Self {
        Self::Memory(Box::new(engine.open_turn()))
    }

    /// The last commit with the changes.
    pub(in crate::session) fn source(&self) -> ReadSource<'_> {
        match self {
            Self::Memory(turn) => ReadSource::Turn(turn),
            Self::File(turn) => ReadSource::File(turn),
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
        slot: &'t FileSlot,
        changes: Vec<Change>,
    ) -> Result<()> {
        guarded("writing", || match self {
            Self::Memory(turn) => {
                turn.apply(changes);
                if turn.is_large() {
                    *self = Self::in_file(engine, slot, turn)?;
                }
                Ok(())
            }
            Self::File(turn) => turn.apply(changes),
        })
    }

    /// Puts the changes of `turn`, and those that the record file lacks, into a write of it.
    fn in_file(engine: &Engine, slot: &'t FileSlot, turn: &Turn) -> Result<Self> {
        engine.move_layers()?;
        let begun = slot.set(engine.begin()?);
        let written = begun.ok().and_then(|()| slot.get()).ok_or_else(|| {
            Error::conflict("internal error: a transaction wrote the record file twice")
        })?;
        let mut file = FileTurn::open(written, engine.snapshot().base().clone());
        file.apply_layer(turn.active())?;
        Ok(Self::File(Box::new(file)))
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
            Self::File(mut turn) => guarded("finishing a transaction", || {
                turn.apply(last)?;
                turn.set_pass(engine.begin_pass()?)?;
                Ok(Ready::File(turn.finish()?))
            }),
        }
    }
}

impl Ready {
    /// Makes the transaction durable and publishes it as the commit `sequence`.
    ///
    /// # Errors
    /// As [`Engine::commit`]; the latch is then set.
    pub(in crate::session) fn commit(
        self,
        engine: &Engine,
        slot: FileSlot,
        sequence: u64,
    ) -> Result<()> {
        engine.latching("committing", || match (self, slot.into_inner()) {
            (Self::Memory(made), _) => engine.commit(*made, sequence, None),
            (Self::File(finished), Some(written)) => {
                engine.commit_file(written, finished, sequence)
            }
            (Self::File(..), None) => {
                Err(Error::conflict("internal error: a transaction lost its write"))
            }
        })
    }
}
