//! Writes runs: those of commits, and the merges of older ones.

use super::advance::{MergeProgress, Work, go_on};
use super::ahead::{Ahead, MOST};
use super::block::{self, Builder};
use super::cursor::{Memory, Rows};
use super::manifest::{self, Manifest, Merge, Run};
use super::{Mark, row_key};
use crate::error::Result;
use crate::records::error::from_redb;
use crate::records::memory::entries::SortedEntries;

type Bytes = &'static [u8];
type Table<'t> = redb::Table<'t, Bytes, Bytes>;

/// Number of runs of one level that are merged together.
const FAN: usize = 6;
/// Number of entries that a commit merges for each of its own, in each merge: twice what is needed
/// to keep up.
pub(super) const PACE: u64 = 2;
/// Least number of entries that a commit merges in each merge. Small in tests, so that merges stay
/// in progress between commits.
const LEAST: u64 = if cfg!(test) { 16 } else { 2_048 };
/// Number of rows of unused runs that a commit removes, in addition to twice as many as it writes.
const SWEEP: usize = 256;
/// A run takes part in [`settle`] if it has at most this many times as many entries as all newer
/// ones together.
const SETTLED: u64 = 8;

fn write(table: &mut Table<'_>, key: &[u8], value: &[u8]) -> Result<()> {
    table.insert(key, value).map_err(|error| from_redb("write the indexes", error))?;
    Ok(())
}

/// Seals blocks and writes them as rows of a run.
fn write_blocks(table: &mut Table<'_>, run: u64, blocks: Vec<(Vec<u8>, Vec<u8>)>) -> Result<()> {
    for (last, mut bytes) in blocks {
        let key = row_key(run, &last);
        block::seal(&key, &mut bytes);
        write(table, &key, &bytes)?;
    }
    Ok(())
}

/// Writes the changes in memory as a run, then does a share of the merging, and writes the
/// manifest.
///
/// `ahead` is the merging that another thread has done meanwhile; without it, the merging is done
/// here. What must hold: the merges that `ahead` advanced were not advanced in this turn too. Their
/// results replace the entries of the manifest, so the other progress would be lost.
///
/// The new run goes to the front of the list, which is in the order of age. The manifest is written
/// last, in the same transaction as the rows that it names.
pub(in crate::records) fn flush(
    table: &mut Table<'_>,
    manifest: &mut Manifest,
    memory: Memory<'_>,
    ahead: Option<Ahead>,
) -> Result<()> {
    let all = SortedEntries::merge(memory.sets());
    if all.len() == 0 {
        return Ok(());
    }
    let work = |entries: u64| Work(entries.saturating_mul(PACE).max(LEAST));
    if let Some(ahead) = &ahead {
        ahead.stop_at(work(all.len() as u64));
    }
    let mut builder = Builder::default();
    let mut blocks = Vec::new();
    let mut run = Run { id: 0, level: 0, net: 0, entries: 0 };
    for change in all.iter() {
        let mark = Mark { before: change.before, after: change.after.is_some() };
        if !mark.is_void() {
            blocks.extend(builder.push(change.key, mark, change.after.unwrap_or_default()));
            run.net += mark.net();
            run.entries += 1;
        }
    }
    if run.entries == 0 {
        return Ok(());
    }
    blocks.extend(builder.finish());
    run.id = manifest.new_id();
    let work = work(run.entries);
    write_blocks(table, run.id, blocks)?;
    let Some(ahead) = ahead else {
        manifest.runs.insert(0, run);
        begin_merges(manifest);
        return step(table, manifest, work);
    };
    let advanced = ahead.finish()?;
    manifest.runs.insert(0, run);
    // Merges that were begun after `ahead` started are not among its results and stay as they are.
    let known: Vec<u64> = advanced.iter().map(|advanced| advanced.merge.output.id).collect();
    manifest.merges.retain(|merge| !known.contains(&merge.output.id));
    put(table, manifest, advanced)?;
    // The thread keeps its blocks in memory, so it stops at `MOST`. The rest is merged here;
    // otherwise merging could not keep up with large commits.
    match work.0.saturating_sub(MOST) {
        0 => Ok(()),
        rest => step(table, manifest, Work(rest)),
    }
}

/// Begins a merge at each level that has `FAN` adjacent runs which are not being merged yet.
///
/// The inputs must be adjacent. The output takes the place of all of them; a run between them would
/// get older or newer than its entries, and an old value could win.
fn begin_merges(manifest: &mut Manifest) {
    let mut level = 0;
    loop {
        let side_by_side: Vec<&Run> = manifest
            .runs
            .iter()
            .skip_while(|run| run.level != level || manifest.is_being_merged(run.id))
            .take_while(|run| run.level == level && !manifest.is_being_merged(run.id))
            .collect();
        if side_by_side.len() >= FAN {
            let inputs = side_by_side.iter().map(|run| run.id).collect();
            begin(manifest, inputs, level.saturating_add(1));
        }
        if level >= manifest.runs.iter().map(|run| run.level).max().unwrap_or(0) {
            return;
        }
        level += 1;
    }
}

fn begin(manifest: &mut Manifest, inputs: Vec<u64>, level: u8) {
    let output = Run { id: manifest.new_id(), level, net: 0, entries: 0 };
    manifest.merges.push(Merge { output, inputs, position: None });
}

/// Advances every merge, removes rows of unused runs, and writes the manifest.
pub(in crate::records) fn step(
    table: &mut Table<'_>,
    manifest: &mut Manifest,
    work: Work,
) -> Result<()> {
    let merges = std::mem::take(&mut manifest.merges);
    let advanced = merges.into_iter().map(|merge| go_on(Rows::Turn(table), merge, || work.0));
    let advanced = advanced.collect::<Result<Vec<_>>>()?;
    put(table, manifest, advanced)
}

/// Writes the results of merges, removes rows of unused runs, and writes the manifest.
fn put(table: &mut Table<'_>, manifest: &mut Manifest, all: Vec<MergeProgress>) -> Result<()> {
    let mut written = 0;
    for MergeProgress { merge, is_done, blocks } in all {
        written += blocks.len();
        write_blocks(table, merge.output.id, blocks)?;
        if is_done {
            finish(manifest, merge);
        } else {
            manifest.merges.push(merge);
        }
    }
    begin_merges(manifest);
    sweep(table, manifest, SWEEP + 2 * written)?;
    write(table, &manifest::key(), &manifest.to_row())
}

/// Replaces the inputs of a finished merge by its output, in the place of the newest input.
///
/// The rows of the inputs are not removed here: that work would grow with the runs. [`sweep`]
/// removes them, a bounded number in each commit.
fn finish(manifest: &mut Manifest, merge: Merge) {
    let place = manifest.runs.iter().position(|run| merge.inputs.contains(&run.id)).unwrap_or(0);
    manifest.runs.retain(|run| !merge.inputs.contains(&run.id));
    if merge.output.entries > 0 {
        manifest.runs.insert(place.min(manifest.runs.len()), merge.output);
    }
    manifest.garbage.extend(merge.inputs);
}

/// Removes up to `most` rows of unused runs. Older snapshots still read their own pages.
fn sweep(table: &mut Table<'_>, manifest: &mut Manifest, most: usize) -> Result<()> {
    let mut left = most;
    while let Some(&run) = manifest.garbage.first() {
        let keys: Vec<Vec<u8>> = Rows::Turn(table)
            .range(&row_key(run, &[]), &row_key(run + 1, &[]))?
            .take(left)
            .map(|row| row.map(|(key, _)| key.value().to_vec()))
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| from_redb("read the indexes", error))?;
        for key in &keys {
            table.remove(key.as_slice()).map_err(|error| from_redb("write the indexes", error))?;
        }
        left -= keys.len();
        if left == 0 {
            return Ok(());
        }
        manifest.garbage.remove(0);
    }
    Ok(())
}

/// Merges many small runs into one, a bounded part at each call; returns whether there is more to
/// do.
///
/// For idle times: reads are fastest with one run. A run that is much larger than all newer ones
/// together is left out, so that a store with occasional writes is not rewritten after each of
/// them. The inputs are the newest runs, so they are adjacent.
pub(in crate::records) fn settle(
    table: &mut Table<'_>,
    manifest: &mut Manifest,
    work: Work,
) -> Result<bool> {
    if manifest.merges.is_empty() {
        let mut total = 0u64;
        let mut inputs = Vec::new();
        for run in &manifest.runs {
            if !inputs.is_empty() && run.entries > total.saturating_mul(SETTLED) {
                break;
            }
            total += run.entries;
            inputs.push(run.id);
        }
        if inputs.len() > 1 {
            let level =
                manifest.runs.iter().take(inputs.len()).map(|run| run.level).max().unwrap_or(0);
            begin(manifest, inputs, level);
        } else if manifest.garbage.is_empty() {
            return Ok(false);
        }
    }
    step(table, manifest, work)?;
    Ok(true)
}
