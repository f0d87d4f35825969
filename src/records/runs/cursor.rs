//! Reads the runs as one sorted sequence.

use std::cmp::Ordering;
use std::sync::Arc;

use redb::ReadableTable;

use super::block::Block;
use super::{Mark, row_key, split_row_key};
use crate::error::Result;
use crate::records::error::from_redb;
use crate::records::file::parts::Visit;
use crate::records::memory::entries::{EntryChange, SortedEntries};

type Bytes = &'static [u8];

/// Changes that are in no run yet: several sets, newest last. They come from two places, of which
/// one is newer.
#[derive(Clone, Copy, Default)]
pub(in crate::records) struct Memory<'a> {
    pub(in crate::records) older: &'a [Arc<SortedEntries>],
    pub(in crate::records) newer: &'a [Arc<SortedEntries>],
}

impl<'a> Memory<'a> {
    /// The sets, oldest first.
    pub(super) fn sets(self) -> impl DoubleEndedIterator<Item = &'a SortedEntries> {
        self.older.iter().chain(self.newer).map(|set| &**set)
    }

    /// By how many keys the changes grow the index space.
    pub(in crate::records) fn net(self) -> i64 {
        self.sets().map(SortedEntries::net).sum()
    }
}

/// The table of the runs, in a snapshot or in a turn.
#[derive(Clone, Copy)]
pub(in crate::records) enum Rows<'a> {
    Snapshot(&'a redb::ReadOnlyTable<Bytes, Bytes>),
    Turn(&'a redb::Table<'a, Bytes, Bytes>),
}

impl<'a> Rows<'a> {
    /// The rows from `from` (included) to `to` (excluded).
    pub(super) fn range(self, from: &[u8], to: &[u8]) -> Result<redb::Range<'a, Bytes, Bytes>> {
        match self {
            Self::Snapshot(table) => table.range::<&[u8]>(from..to),
            Self::Turn(table) => table.range::<&[u8]>(from..to),
        }
        .map_err(|error| from_redb("read the indexes", error))
    }
}

/// A run, positioned at an entry.
struct Iter<'a> {
    table: Rows<'a>,
    run: u64,
    /// The remaining rows. In a backward walk, they are opened only when the start of the first
    /// block is reached, which most walks never do.
    rows: Option<redb::Range<'a, Bytes, Bytes>>,
    /// In a backward walk, the key of the row after the remaining ones.
    behind: Vec<u8>,
    block: Block,
}

impl<'a> Iter<'a> {
    /// Positions the run at its first entry from `from` on; `None` if there is none.
    fn forward(table: Rows<'a>, run: u64, from: &[u8]) -> Result<Option<Self>> {
        let rows = Some(table.range(&row_key(run, from), &row_key(run + 1, &[]))?);
        let mut iter = Self { table, run, rows, behind: Vec::new(), block: Block::default() };
        // A row's key is the last entry of its block, so the first row at or after `from` has the
        // entry.
        Ok((iter.load(false)? && iter.block.seek_forward(Some(from))?).then_some(iter))
    }

    /// Positions the run at its last entry before `to`; `None` if there is none.
    fn back(table: Rows<'a>, run: u64, to: &[u8]) -> Result<Option<Self>> {
        // The first row at or after `to` is the only one that has entries on both sides of `to`.
        let end = row_key(run + 1, &[]);
        let last = table.range(&row_key(run, to), &end)?.next();
        let mut iter = Self { table, run, rows: None, behind: end, block: Block::default() };
        if let Some(row) = last {
            let (key, value) = row.map_err(|error| from_redb("read the indexes", error))?;
            iter.block.load(key.value(), value.value())?;
            iter.behind = key.value().to_vec();
            if iter.block.seek_back(Some(to))? {
                return Ok(Some(iter));
            }
        }
        // All entries of the earlier blocks are before `to`.
        Ok((iter.load(true)? && iter.block.seek_back(None)?).then_some(iter))
    }

    /// Reads the next row from either end; returns whether there was one.
    fn load(&mut self, back: bool) -> Result<bool> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => self.rows.insert(self.table.range(&row_key(self.run, &[]), &self.behind)?),
        };
        let row = if back { rows.next_back() } else { rows.next() };
        let Some(row) = row else { return Ok(false) };
        let (key, value) = row.map_err(|error| from_redb("read the indexes", error))?;
        self.block.load(key.value(), value.value())?;
        split_row_key(key.value())?;
        Ok(true)
    }

    fn advance(&mut self, back: bool) -> Result<bool> {
        if if back { self.block.back()? } else { self.block.forward()? } {
            return Ok(true);
        }
        if !self.load(back)? {
            return Ok(false);
        }
        if back { self.block.seek_back(None) } else { self.block.seek_forward(None) }
    }
}

/// One input of a merge: changes in memory, or a run.
enum Input<'a> {
    /// A set of changes, the current change, its position, and the last position of the walk.
    Memory(&'a SortedEntries, EntryChange<'a>, usize, usize),
    Run(Box<Iter<'a>>),
}

impl<'a> Input<'a> {
    fn key(&self) -> &[u8] {
        match self {
            Self::Memory(_, change, ..) => change.key,
            Self::Run(iter) => iter.block.key(),
        }
    }

    fn mark(&self) -> Mark {
        match self {
            Self::Memory(_, change, ..) => {
                Mark { before: change.before, after: change.after.is_some() }
            }
            Self::Run(iter) => iter.block.mark(),
        }
    }

    fn value(&self) -> Result<&[u8]> {
        match self {
            Self::Memory(_, change, ..) => Ok(change.after.unwrap_or_default()),
            Self::Run(iter) => iter.block.value(),
        }
    }

    fn advance(&mut self, back: bool) -> Result<bool> {
        match self {
            Self::Memory(set, change, at, end) => {
                if *at == *end {
                    return Ok(false);
                }
                *at = if back { *at - 1 } else { *at + 1 };
                match set.get(*at) {
                    Some(next) => *change = next,
                    None => return Ok(false),
                }
                Ok(true)
            }
            Self::Run(iter) => iter.advance(back),
        }
    }
}

/// The entries of several runs as one sequence, forwards or backwards.
///
/// What must hold: the number of an input is its age, 0 for the newest; `inputs` is sorted by
/// [`order`], so that the next entry is at the end; an input at its end is removed. For equal keys
/// the newer input is read first: its value counts, and the marks of the older ones only tell
/// whether the key existed before. Any other order would return an old value or a removed key.
pub(in crate::records) struct Merged<'a> {
    table: Rows<'a>,
    memory: Memory<'a>,
    /// Ids of the runs, newest first.
    runs: Vec<u64>,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    /// The direction; `None` until something was read.
    back: Option<bool>,
    /// Inputs that are not at their end, with their numbers; the next one is last.
    inputs: Vec<(usize, Input<'a>)>,
    /// Whether the next two inputs are at the same key.
    is_tied: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Number of entries of the inputs that were read.
    pub(super) consumed: u64,
}

impl<'a> Merged<'a> {
    /// The entries from `from` (included) to `to` (excluded) of these runs, newest first, and of
    /// the changes in memory, which are newer than all runs.
    pub(in crate::records) fn new(
        table: Rows<'a>,
        memory: Memory<'a>,
        runs: Vec<u64>,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Self {
        Self {
            table,
            memory,
            runs,
            from: from.to_vec(),
            to: to.map(|to| to.max(from).to_vec()),
            back: None,
            inputs: Vec::new(),
            is_tied: false,
            key: Vec::new(),
            value: Vec::new(),
            consumed: 0,
        }
    }

    fn open(&mut self, back: bool) -> Result<()> {
        self.back = Some(back);
        if self.to.as_ref().is_some_and(|to| *to <= self.from) {
            return Ok(());
        }
        let mut inputs = Vec::with_capacity(self.runs.len() + 1);
        for set in self.memory.sets().rev() {
            let from = set.place_of(&self.from);
            let to = self.to.as_deref().map_or(set.len(), |to| set.place_of(to));
            if from < to {
                let (first, end) = if back { (to - 1, from) } else { (from, to - 1) };
                inputs.extend(set.get(first).map(|change| Input::Memory(set, change, first, end)));
            }
        }
        // No key starts with ff.
        let end = self.to.as_deref().unwrap_or(&[0xff]);
        for &run in &self.runs {
            let iter = if back {
                Iter::back(self.table, run, end)
            } else {
                Iter::forward(self.table, run, &self.from)
            };
            inputs.extend(iter?.map(|iter| Input::Run(Box::new(iter))));
        }
        self.inputs = inputs.into_iter().enumerate().collect();
        self.inputs.sort_by(|one, other| order(other, one, back));
        self.is_tied = self.compare_next();
        Ok(())
    }

    /// Advances the input that was next, and restores the order of `inputs`.
    fn advance(&mut self, back: bool) -> Result<()> {
        self.consumed += 1;
        let Some((_, last)) = self.inputs.last_mut() else { return Ok(()) };
        if !last.advance(back)? {
            self.inputs.pop();
            self.is_tied = self.compare_next();
            return Ok(());
        }
        let last = self.inputs.len() - 1;
        let mut at = last;
        while at > 0 {
            let (Some(one), Some(below)) = (self.inputs.get(at), self.inputs.get(at - 1)) else {
                break;
            };
            let keys = key_order(one, below, back);
            if keys.then(one.0.cmp(&below.0)) == Ordering::Less {
                self.is_tied = keys == Ordering::Equal;
                break;
            }
            self.inputs.swap(at, at - 1);
            at -= 1;
        }
        if at < last {
            self.is_tied = self.compare_next();
        } else if at == 0 {
            self.is_tied = false;
        }
        Ok(())
    }

    /// Whether the next two inputs are at the same key.
    fn compare_next(&self) -> bool {
        match self.inputs.as_slice() {
            [.., (_, below), (_, next)] => next.key() == below.key(),
            _ => false,
        }
    }

    /// Whether the next key is still in the range.
    fn is_inside(&self, key: &[u8]) -> bool {
        match self.back {
            Some(true) => key >= self.from.as_slice(),
            _ => self.to.as_deref().is_none_or(|to| key < to),
        }
    }

    /// Moves to the next key and returns its mark over all inputs; `None` at the end. Key and value
    /// are kept for [`Self::current`].
    ///
    /// All inputs with this key are advanced, from newest to oldest. Each older mark moves `before`
    /// further into the past; value and `after` stay those of the newest.
    pub(super) fn next_mark(&mut self, back: bool) -> Result<Option<Mark>> {
        match self.back {
            None => self.open(back)?,
            Some(known) => debug_assert_eq!(known, back, "a cursor keeps its direction"),
        }
        let back = self.back == Some(true);
        let Some((_, top)) = self.inputs.last() else { return Ok(None) };
        let key = top.key();
        if !self.is_inside(key) {
            self.inputs.clear();
            return Ok(None);
        }
        let mut mark = top.mark();
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        self.value.extend_from_slice(top.value()?);
        self.advance(back)?;
        while let Some((_, older)) = self.inputs.last().filter(|(_, input)| input.key() == self.key)
        {
            mark = older.mark().then(mark);
            self.advance(back)?;
        }
        Ok(Some(mark))
    }

    /// The key and the value of the last call of [`Self::next_mark`].
    pub(super) fn current(&self) -> (&[u8], &[u8]) {
        (&self.key, &self.value)
    }

    /// Calls `f` with the next entry whose key exists; returns false at the end.
    pub(in crate::records) fn visit(&mut self, back: bool, f: &mut Visit<'_>) -> Result<bool> {
        // An input has each key only once. So an entry whose key no other input is at needs no
        // merging, and is not copied.
        while let (true, false, Some((_, next))) =
            (self.back.is_some(), self.is_tied, self.inputs.last())
        {
            if !self.is_inside(next.key()) {
                self.inputs.clear();
                return Ok(false);
            }
            if next.mark().after {
                f(next.key(), next.value()?);
                self.advance(back)?;
                return Ok(true);
            }
            self.advance(back)?;
        }
        while let Some(mark) = self.next_mark(back)? {
            if mark.after {
                f(&self.key, &self.value);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Which input is next: the one with the smaller key, or with the greater one backwards; for equal
/// keys, the newer input.
fn order(one: &(usize, Input<'_>), other: &(usize, Input<'_>), back: bool) -> Ordering {
    key_order(one, other, back).then(one.0.cmp(&other.0))
}

fn key_order(one: &(usize, Input<'_>), other: &(usize, Input<'_>), back: bool) -> Ordering {
    let keys = one.1.key().cmp(other.1.key());
    if back { keys.reverse() } else { keys }
}
