//! Writing runs: those of commits, and the merging of older ones.

use super::advance::{Advanced, Work, go_on};
use super::ahead::{Ahead, MOST};
use super::block::{self, Builder};
use super::cursor::{Memory, Rows};
use super::manifest::{self, Manifest, Merge, Run};
use super::{Mark, row_key};
use crate::error::Result;
use crate::records::error::from_redb;

type Bytes = &'static [u8];
type Table<'t> = redb::Table<'t, Bytes, Bytes>;

/// Runs of one level that are merged together.
const FAN: usize = 6;
/// Entries that a commit merges for each of its own, at each level: twice what keeps up.
pub(super) const PACE: u64 = 2;
/// Entries that a commit merges at each level at least; few in tests, so that merges stay open between commits.
const LEAST: u64 = if cfg!(test) { 16 } else { 2_048 };
/// Rows of runs that are gone which a commit removes, beside twice as many as it writes.
const SWEEP: usize = 256;
/// A run takes part in [`settle`] when it is at most this many times as large as all newer ones together.
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

/// Makes a run of the changes in memory, then does a share of the merging, and writes the manifest.
///
/// `ahead` is the merging that another thread does meanwhile; without it, it is done here.
pub(in crate::records) fn flush(
    table: &mut Table<'_>,
    manifest: &mut Manifest,
    memory: Memory,
    ahead: Option<Ahead>,
) -> Result<()> {
    let Some(all) = memory.into_iter().reduce(|older, newer| older.then(&newer)) else { return Ok(()) };
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
    // What was begun since the turn began has not been advanced.
    let known: Vec<u64> = advanced.iter().map(|advanced| advanced.merge.output.id).collect();
    manifest.merges.retain(|merge| !known.contains(&merge.output.id));
    put(table, manifest, advanced)?;
    // The thread holds what it reads, so it ends early; without the rest, merging would fall behind large commits.
    match work.0.saturating_sub(MOST) {
        0 => Ok(()),
        rest => step(table, manifest, Work(rest)),
    }
}

/// The unmerged runs of one level that stand side by side, newest first.
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

/// Goes on with every merge, removes rows of runs that are gone, and writes the manifest.
pub(in crate::records) fn step(table: &mut Table<'_>, manifest: &mut Manifest, work: Work) -> Result<()> {
    let merges = std::mem::take(&mut manifest.merges);
    let advanced = merges.into_iter().map(|merge| go_on(Rows::Turn(table), merge, || work.0));
    let advanced = advanced.collect::<Result<Vec<_>>>()?;
    put(table, manifest, advanced)
}

/// Writes what merges brought, removes rows of runs that are gone, and writes the manifest.
fn put(table: &mut Table<'_>, manifest: &mut Manifest, all: Vec<Advanced>) -> Result<()> {
    let mut written = 0;
    for Advanced { merge, is_done, blocks } in all {
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

/// Puts the output where the inputs stood.
fn finish(manifest: &mut Manifest, merge: Merge) {
    let place = manifest.runs.iter().position(|run| merge.inputs.contains(&run.id)).unwrap_or(0);
    manifest.runs.retain(|run| !merge.inputs.contains(&run.id));
    if merge.output.entries > 0 {
        manifest.runs.insert(place.min(manifest.runs.len()), merge.output);
    }
    manifest.garbage.extend(merge.inputs);
}

/// Removes up to `most` rows of runs that are gone. Older snapshots keep reading their own pages.
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

/// Merges what many small runs are worth merging into one, a part at a time; whether there is more to do.
///
/// For idle times: reads are quickest with one run. A run that is much larger than all newer ones stays as it is, so that
/// a store that is written to now and then is not rewritten each time.
pub(in crate::records) fn settle(table: &mut Table<'_>, manifest: &mut Manifest, work: Work) -> Result<bool> {
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
            let level = manifest.runs.iter().take(inputs.len()).map(|run| run.level).max().unwrap_or(0);
            begin(manifest, inputs, level);
        } else if manifest.garbage.is_empty() {
            return Ok(false);
        }
    }
    step(table, manifest, work)?;
    Ok(true)
}
