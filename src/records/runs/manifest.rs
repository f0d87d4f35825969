//! The list of runs, newest first, and of the merges in progress.

use super::{damaged, row_key};
use crate::error::Result;
use crate::records::envelope;
use crate::records::error::from_redb;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::records) struct Run {
    pub(super) id: u64,
    /// How often its entries were merged. Runs of the same level are merged together.
    pub(super) level: u8,
    /// The keys that it adds to the older runs, minus those that it removes.
    pub(super) net: i64,
    pub(super) entries: u64,
}

/// A merge in progress. The rows that it wrote so far belong to no run yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Merge {
    pub(super) output: Run,
    /// Adjacent runs in the list of runs, newest first.
    pub(super) inputs: Vec<u64>,
    /// The last key that was merged; `None` at the start.
    pub(super) position: Option<Vec<u8>>,
}

/// The list of runs and what is being done with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::records) struct Manifest {
    pub(super) next_run: u64,
    pub(super) runs: Vec<Run>,
    pub(super) merges: Vec<Merge>,
    /// Runs that are no longer in use, whose rows are to be removed.
    pub(super) garbage: Vec<u64>,
}

/// Reads the manifest of a table.
pub(in crate::records) fn read_manifest(
    table: &redb::ReadOnlyTable<&'static [u8], &'static [u8]>,
) -> Result<Manifest> {
    let row = table.get(key().as_slice()).map_err(|error| from_redb("read the indexes", error))?;
    Manifest::read(row.as_ref().map(|row| row.value()))
}

/// The key of the manifest's row. It belongs to no run, because run ids start at 1.
pub(super) fn key() -> Vec<u8> {
    row_key(0, &[])
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*head))
    }

    fn len(&mut self) -> Option<usize> {
        let len = usize::try_from(self.u64()?).ok()?;
        // Each item takes at least one byte, so a forged length causes no large allocation.
        (len <= self.0.len()).then_some(len)
    }

    fn run(&mut self) -> Option<Run> {
        Some(Run {
            id: self.u64()?,
            level: u8::try_from(self.u64()?).ok()?,
            net: self.u64()?.cast_signed(),
            entries: self.u64()?,
        })
    }

    fn ids(&mut self) -> Option<Vec<u64>> {
        (0..self.len()?).map(|_| self.u64()).collect()
    }

    fn merge(&mut self) -> Option<Merge> {
        let output = self.run()?;
        let inputs = self.ids()?;
        let len = self.len()?;
        let (position, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let position = (!position.is_empty()).then(|| position.to_vec());
        Some(Merge { output, inputs, position })
    }

    fn manifest(&mut self) -> Option<Manifest> {
        let next_run = self.u64()?;
        let runs = (0..self.len()?).map(|_| self.run()).collect::<Option<_>>()?;
        let merges = (0..self.len()?).map(|_| self.merge()).collect::<Option<_>>()?;
        let garbage = self.ids()?;
        self.0.is_empty().then_some(Manifest { next_run, runs, merges, garbage })
    }
}

fn push(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn push_run(out: &mut Vec<u8>, run: &Run) {
    push(out, run.id);
    push(out, u64::from(run.level));
    push(out, run.net.cast_unsigned());
    push(out, run.entries);
}

fn push_ids(out: &mut Vec<u8>, ids: &[u64]) {
    push(out, ids.len() as u64);
    ids.iter().for_each(|id| push(out, *id));
}

impl Manifest {
    /// Decodes the manifest's row. Without a row, there are no runs.
    pub(in crate::records) fn read(row: Option<&[u8]>) -> Result<Self> {
        let Some(row) = row else { return Ok(Self { next_run: 1, ..Self::default() }) };
        Reader(envelope::open(&key(), 0, row)?.bytes)
            .manifest()
            .ok_or_else(|| damaged("the list of runs"))
    }

    /// Encodes the manifest as its row.
    pub(super) fn to_row(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, self.next_run);
        push(&mut out, self.runs.len() as u64);
        self.runs.iter().for_each(|run| push_run(&mut out, run));
        push(&mut out, self.merges.len() as u64);
        for merge in &self.merges {
            push_run(&mut out, &merge.output);
            push_ids(&mut out, &merge.inputs);
            let position = merge.position.as_deref().unwrap_or_default();
            push(&mut out, position.len() as u64);
            out.extend_from_slice(position);
        }
        push_ids(&mut out, &self.garbage);
        envelope::seal(&key(), 0, &out)
    }

    /// Ids of the runs, newest first.
    pub(in crate::records) fn ids(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.id).collect()
    }

    /// The number of keys in the index space.
    pub(in crate::records) fn len(&self) -> u64 {
        u64::try_from(self.runs.iter().map(|run| run.net).sum::<i64>()).unwrap_or(0)
    }

    pub(super) fn new_id(&mut self) -> u64 {
        let id = self.next_run.max(1);
        self.next_run = id + 1;
        id
    }

    pub(super) fn is_being_merged(&self, id: u64) -> bool {
        self.merges.iter().any(|merge| merge.inputs.contains(&id))
    }
}
