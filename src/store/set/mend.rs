//! Takes the rows of damaged pages of the record file from the backups of a set.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::chunks::Packs;
use super::layout::Set;
use super::manifest::Manifest;
use super::rows::each_row;
use super::sweep::{Manifests, each_chunk};
use crate::error::{ErrorKind, Result};
use crate::records::RECENT_LOG_BYTES;
use crate::records::Space;
use crate::records::salvage::mend::{DamagedPage, Row, find, find_recent};
use crate::session::{Engine, Session, read_pages_again};
use crate::store::findings::{REBUILD, VerifyReport};
use crate::store::salvage::check_entry;
use crate::value::{Control, time};

const LOST: &str = "restore a backup, or salvage the store, which keeps what is newer than the \
                    backup; an older set may have the rows as they were";
const REOPEN: &str = "close and open the store, then repair again";
const AGAIN: &str = "repair again if pages were repaired, because so many are taken one part after \
                     the other; otherwise restore a backup, or salvage the store";

/// What was mended of the record file.
#[derive(Default)]
pub(super) struct Mended {
    /// The pages, by the byte where each begins.
    pub(super) pages: Vec<u64>,
    pub(super) bytes: u64,
    /// Whether the store has to be reopened before it reads them.
    pub(super) needs_reopen: bool,
}

/// Mends the damaged pages of the record file. What no backup of the set has as it was goes to
/// `left`, and stays as it is.
pub(super) fn mend_records(
    engine: &Arc<Engine>,
    set: &Set,
    control: &Control,
    left: &mut VerifyReport,
) -> Result<Mended> {
    let mut report = Mended::default();
    let (held, damage) = match engine.page_damage(control) {
        Err(error) if error.kind() == ErrorKind::Latched => {
            left.find_in_records("its pages, which were not read", error.message(), REOPEN);
            return Ok(report);
        }
        damage => damage?,
    };
    for table in damage.lost_tables {
        let place = format!("the table {table}");
        left.find_in_records(place, "the page that names it is damaged", LOST);
    }
    let (index, mut pages): (Vec<_>, Vec<_>) =
        damage.pages.into_iter().partition(DamagedPage::is_of_index);
    for page in index {
        let problem = "it does not have its checksum; a set has no indexes";
        left.find_in_records(place(&page), problem, REBUILD);
    }
    if damage.left_out > 0 {
        let problem = format!("{} more pages do not have their checksums", damage.left_out);
        left.find_in_records("its pages", problem, AGAIN);
    }
    let manifests = Manifests::of(set)?;
    let mut packs = Packs::new(&set.disk);
    // What the newest backup has of the rows of a page, by the place of the page.
    let mut older = BTreeMap::new();
    for manifest in manifests.readable.iter().rev() {
        if pages.is_empty() {
            break;
        }
        let rows = rows_of(&pages, manifest, &mut packs, control)?;
        let mut mended = Vec::new();
        let mut waiting = Vec::new();
        for (page, rows) in pages.into_iter().zip(rows) {
            match page.mended(&rows, &check_entry) {
                Some(bytes) => mended.push((page.at(), bytes)),
                None => {
                    if !rows.is_empty() {
                        older.entry(page.at()).or_insert((manifest, rows.len()));
                    }
                    waiting.push(page);
                }
            }
        }
        pages = waiting;
        if !mended.is_empty() {
            engine.put_pages(&mended, &held)?;
            report.pages.extend(mended.iter().map(|(at, _)| at));
            report.bytes += mended.iter().map(|(_, page)| page.len() as u64).sum::<u64>();
        }
    }
    for page in &pages {
        let has = older.get(&page.at()).map_or_else(
            || "no backup of the set has rows of it".to_owned(),
            |(manifest, rows)| {
                format!(
                    "the set has {rows} rows of it, but not the same ones; the newest are of the \
                     backup {} from {}, {} ago",
                    manifest.backup,
                    time::format(manifest.taken),
                    age(engine, manifest)
                )
            },
        );
        let problem = format!("it does not have its checksum; {has}");
        left.find_in_records(place(page), problem, LOST);
    }
    // The snapshot is a reader.
    drop(held);
    let was_refused = engine.refused_pages().is_some_and(|refused| !refused.is_empty());
    if was_refused && left.is_sound() {
        let session = Session::of_store(engine).with_control(control);
        report.needs_reopen = !read_pages_again(&session)?;
    } else {
        // A file that is still damaged may not open again, and what is in the cache can be read.
        report.needs_reopen = was_refused && !report.pages.is_empty();
    }
    Ok(report)
}

fn place(page: &DamagedPage) -> String {
    format!("the page at byte {} of the table {}", page.at(), page.table())
}

/// How old a backup is, in the largest unit of which it has one.
fn age(engine: &Engine, manifest: &Manifest) -> String {
    let age = engine.clock_now().signed_duration_since(manifest.taken);
    let units = [(age.num_days(), "days"), (age.num_hours(), "hours")];
    let unit = units.into_iter().find(|(count, _)| *count > 0);
    let (count, unit) = unit.unwrap_or((age.num_minutes().max(0), "minutes"));
    format!("{count} {unit}")
}

/// The rows of a backup that lie in the ranges of the pages, for each page in the order of their
/// keys. Chunks that cannot be read have none.
fn rows_of(
    pages: &[DamagedPage],
    manifest: &Manifest,
    packs: &mut Packs,
    control: &Control,
) -> Result<Vec<Vec<Row>>> {
    let mut found: Vec<Found> = pages.iter().map(|_| Found::default()).collect();
    let mut skip = |_| Ok(());
    each_chunk(packs, &manifest.row_lists, &mut skip, &mut |packs, chunk| {
        control.check()?;
        let rows = match packs.read(chunk) {
            Err(unread) if unread.error.is_damage() => return Ok(()),
            rows => rows?,
        };
        each_row(&rows, &mut |tag, key, value| {
            let Some(space) = Space::from_number(tag) else { return Ok(()) };
            if let Some((at, key)) = find(pages, space, key)
                && let (Some(page), Some(found)) = (pages.get(at), found.get_mut(at))
            {
                found.add(key, value, page.bytes_max());
            }
            if space == Space::Log
                && let Some((at, key)) = find_recent(pages, key)
                && let Some(found) = found.get_mut(at)
            {
                found.add_recent(key, value);
            }
            Ok(())
        })
    })?;
    Ok(found.into_iter().map(Found::rows).collect())
}

/// The rows that were found for a page.
#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    bytes: usize,
    /// The newest rows of the log, which are in another table than the others.
    recent: VecDeque<Row>,
    recent_bytes: usize,
}

impl Found {
    fn add(&mut self, key: Vec<u8>, value: &[u8], bytes_max: usize) {
        let bytes = key.len() + value.len();
        if self.bytes + bytes <= bytes_max {
            self.bytes += bytes;
            self.rows.push((key, value.to_vec()));
        }
    }

    fn add_recent(&mut self, key: Vec<u8>, value: &[u8]) {
        self.recent_bytes += key.len() + value.len();
        self.recent.push_back((key, value.to_vec()));
        while self.recent_bytes > RECENT_LOG_BYTES
            && let Some((key, value)) = self.recent.pop_front()
        {
            self.recent_bytes -= key.len() + value.len();
        }
    }

    /// All of them, in the order of their keys.
    fn rows(self) -> Vec<Row> {
        let mut rows = self.rows;
        rows.extend(self.recent);
        rows.sort_unstable();
        rows
    }
}
