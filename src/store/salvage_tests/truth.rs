//! The items of the last commit of the undamaged store, and the entries and files that each item
//! needs.

use crate::store::tests::prelude::*;
use std::ops::Range;

use super::damage::{Damage, Touched};
use super::*;
use crate::arrow::array::AsArray;
use crate::arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use crate::blobs;
use crate::columnar::{MergedScan, Predicates, batch_row_count};
use crate::model::steps::remains::RemainingSteps;
use crate::model::steps::rows::steps_of;
use crate::model::steps::stored::{StepChunk, StoredStep};
use crate::model::tables::store_table::STEPS;
use crate::model::{Resource, TestResult, UploadChunk, UploadSessionRecord, by_code};
use crate::records::Snapshot;
use crate::records::salvage::{MappedPage, page_map};
use crate::session::tables::{open_table, sealed};
use crate::value::id::hex;
use crate::value::{IdForm, RecordKey};

type Key = (Space, Vec<u8>);

/// The entries and files that an item needs.
#[derive(Clone, Debug, Default)]
struct Needs {
    entries: Vec<Key>,
    files: Vec<String>,
}

pub(super) struct Truth {
    /// Items by name, with their bytes.
    items: BTreeMap<String, Vec<u8>>,
    needs: BTreeMap<String, Needs>,
    /// Ids of tables, with their index values, and the ranges of rows that need the same entries
    /// and files.
    tables: BTreeMap<String, Vec<i64>>,
    counters: BTreeMap<Vec<u8>, u64>,
    pages: Vec<MappedPage>,
    pub(super) sequence: u64,
}

/// The contents of a store.
struct Seen {
    items: BTreeMap<String, Vec<u8>>,
    needs: BTreeMap<String, Needs>,
    tables: BTreeMap<String, Vec<i64>>,
    counters: BTreeMap<Vec<u8>, u64>,
    sequence: u64,
}

fn entries(snapshot: &Snapshot, space: Space) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = ReadSource::Snapshot(snapshot).cursor(space, &[], None).unwrap();
    let mut found = Vec::new();
    while let Some(entry) = cursor.next().unwrap() {
        found.push(entry);
    }
    found
}

fn content_needs(needs: &mut Needs, content: &StoredContent) {
    for part in &content.parts {
        if content.small {
            needs.entries.push((Space::SmallBlobs, part.blob.to_be_bytes().to_vec()));
        } else {
            needs.files.push(blobs::path(part.blob));
        }
    }
}

/// All steps of results, with what they need: their chunk, or the segments of their table.
fn steps(session: &Session, snapshot: &Snapshot) -> Vec<(String, Vec<u8>, Needs)> {
    let mut found = Vec::new();
    let mut add = |kind: &str, result: RecordKey, step: &StoredStep, needs: &Needs| {
        let name = format!("{kind}|step {} of {}", step.seq, hex(result.as_bytes()));
        found.push((name, stored::to_bytes(step).unwrap(), needs.clone()));
    };
    for (key, row) in entries(snapshot, Space::RowChunks) {
        let chunk: StepChunk = stored::read(envelope::open(&key, 0, &row).unwrap()).unwrap();
        let result = RecordKey::from_bytes(IdForm::Guid, &key[12..28]).unwrap();
        let needs = Needs { entries: vec![(Space::RowChunks, key)], files: Vec::new() };
        for step in &chunk.steps {
            add("rows of steps", result, step, &needs);
        }
    }
    let mut needs = Needs::default();
    let table = STEPS.key().unwrap();
    for space in [Space::Segments, Space::DeletedRows, Space::TableState] {
        let of_table = entries(snapshot, space).into_iter();
        for (key, value) in of_table.filter(|(key, _)| key.starts_with(table.as_bytes())) {
            if space == Space::Segments {
                let meta = envelope::from_row::<crate::columnar::SegmentMeta>(&key, &value);
                let name = format!("{:016x}.parquet", meta.unwrap().id);
                needs.files.push(format!("tables/{}/{name}", STEPS.id));
            }
            needs.entries.push((space, key));
        }
    }
    session
        .read(|view| {
            let Some(table) = sealed(view, &STEPS)? else { return Ok(()) };
            let columns = (0..table.schema.len()).collect();
            let all = Arc::new(Predicates::default());
            let mut scan = MergedScan::new(table, all, columns, None, Control::default())?;
            while let Some(chunk) = scan.next_chunk()? {
                for (result, step) in steps_of(&chunk.batch)? {
                    add("rows", result, &step, &needs);
                }
            }
            Ok(())
        })
        .unwrap();
    found
}

fn look(disk: &Arc<MemoryDisk>) -> Seen {
    // Opens a copy, because opening writes.
    let (store, session) = opened(options().upload_session_days(None), super::copy(&**disk));
    let engine = store.engine().clone();
    let snapshot = engine.snapshot();
    let mut seen = Seen {
        items: BTreeMap::new(),
        needs: BTreeMap::new(),
        tables: BTreeMap::new(),
        counters: BTreeMap::new(),
        sequence: snapshot.sequence,
    };
    let mut put = |name: String, value: Vec<u8>, needs: Needs| {
        seen.items.insert(name.clone(), value);
        seen.needs.insert(name, needs);
    };
    for (key, value) in entries(&snapshot, Space::Records) {
        let payload = envelope::open(&key, key[0], &value).unwrap();
        // A salvage counts the steps of a result anew, and keeps those that lost their result.
        let value = if key[0] == TestResult::KIND.code {
            let result = stored::read::<TestResult>(payload).unwrap();
            let uncounted = TestResult { status_type_summary: None, steps_created: 0, ..result };
            stored::to_bytes(&uncounted).unwrap()
        } else if key[0] == RemainingSteps::KIND.code {
            let remains = stored::read::<RemainingSteps>(payload).unwrap();
            if remains.workspace.as_deref() == Some("") {
                continue;
            }
            stored::to_bytes(&RemainingSteps { steps_created: 0, ..remains }).unwrap()
        } else {
            value.clone()
        };
        let mut needs = Needs { entries: vec![(Space::Records, key.clone())], files: Vec::new() };
        if key[0] == FileRecord::KIND.code {
            content_needs(&mut needs, &stored::read::<FileRecord>(payload).unwrap().content);
        } else if key[0] == PackageRecord::KIND.code {
            content_needs(&mut needs, &stored::read::<PackageRecord>(payload).unwrap().content);
        }
        put(format!("{}|{}", by_code(key[0]).unwrap().kind.name, hex(&key)), value, needs);
    }
    for (key, value) in entries(&snapshot, Space::UploadChunks) {
        let chunk = stored::read::<UploadChunk>(envelope::open(&key, 0, &value).unwrap()).unwrap();
        let session = [&[UploadSessionRecord::KIND.code], &key[..key.len() - 4]].concat();
        let mut needs = Needs {
            entries: vec![(Space::UploadChunks, key.clone()), (Space::Records, session)],
            files: Vec::new(),
        };
        content_needs(&mut needs, &chunk.content);
        put(format!("upload chunk|{}", hex(&key)), value, needs);
    }
    for (name, value, needs) in steps(&session, &snapshot) {
        put(name, value, needs);
    }
    let log = entries(&snapshot, Space::Log);
    let all: Vec<Key> = log.iter().map(|(key, _)| (Space::Log, key.clone())).collect();
    for (key, value) in log {
        put(
            format!("change log|{}", hex(&key)),
            value,
            Needs { entries: all.clone(), files: Vec::new() },
        );
    }
    for (key, value) in entries(&snapshot, Space::Positions) {
        if key.starts_with(b"subscriber ") {
            let needs = Needs { entries: vec![(Space::Positions, key.clone())], files: Vec::new() };
            put(format!("subscriber|{}", hex(&key)), value, needs);
        }
    }
    let identity = ReadSource::Snapshot(&snapshot).get(Space::Meta, b"identity").unwrap().unwrap();
    let needs = Needs { entries: vec![(Space::Meta, b"identity".to_vec())], files: Vec::new() };
    put("fact of the store|identity".to_owned(), identity, needs);
    let kind = TableMetadata::KIND;
    for (full_key, _) in
        entries(&snapshot, Space::Records).into_iter().filter(|(key, _)| key[0] == kind.code)
    {
        let key = &full_key[1..];
        let mut needs =
            Needs { entries: vec![(Space::Records, full_key.clone())], files: Vec::new() };
        for (entry, value) in entries(&snapshot, Space::Segments)
            .into_iter()
            .filter(|(entry, _)| entry.starts_with(key))
        {
            let meta = envelope::from_row::<crate::columnar::SegmentMeta>(&entry, &value).unwrap();
            needs.files.push(format!("tables/{}/{:016x}.parquet", hex(key), meta.id));
            needs.entries.push((Space::Segments, entry));
        }
        for (entry, value) in entries(&snapshot, Space::TableBuffer)
            .into_iter()
            .filter(|(entry, _)| entry.starts_with(key))
        {
            assert!(batch_row_count(&value) > 0);
            needs.entries.push((Space::TableBuffer, entry));
        }
        let id = hex(key);
        seen.needs.insert(format!("rows|{id}"), needs);
        let rows = session
            .read(|view| {
                let table = view.get::<TableMetadata>(&id)?.unwrap();
                let opened = open_table(view, &table)?;
                let columns: Vec<usize> = (0..table.columns.as_ref().unwrap().len()).collect();
                let names: Vec<String> =
                    table.columns.unwrap().into_iter().map(|column| column.name).collect();
                let position = |name: &str| names.iter().position(|other| other == name);
                let (t, small, noise) =
                    (position("t").unwrap(), position("small").unwrap(), position("noise"));
                let mut scan = MergedScan::new(
                    opened,
                    Arc::new(Predicates::default()),
                    columns,
                    None,
                    Control::default(),
                )?;
                let mut rows = Vec::new();
                while let Some(chunk) = scan.next_chunk()? {
                    let t = chunk.batch.column(t).as_primitive::<Int64Type>();
                    let small = chunk.batch.column(small).as_primitive::<Int32Type>();
                    if let Some(noise) = noise {
                        let found = chunk.batch.column(noise).as_primitive::<Float64Type>();
                        assert!(
                            t.values()
                                .iter()
                                .zip(found.values())
                                .all(|(t, found)| *found == super::noise(*t))
                        );
                    }
                    for (t, small) in t.iter().zip(small) {
                        let t = t.unwrap();
                        assert!(
                            small.is_none_or(|small| i64::from(small) == t * 3),
                            "a wrong row: {t}, {small:?}"
                        );
                        rows.push(t);
                    }
                }
                Ok(rows)
            })
            .unwrap();
        assert!(rows.is_sorted(), "rows out of order");
        seen.tables.insert(id, rows);
    }
    for (key, value) in entries(&snapshot, Space::Counters) {
        seen.counters.insert(key, u64::from_be_bytes(value.try_into().unwrap()));
    }
    seen
}

/// Whether an item is an entry of the change log after this commit.
fn is_log_after(name: &str, sequence: u64) -> bool {
    let key = name.strip_prefix("change log|").and_then(|key| key.get(..16));
    key.and_then(|key| u64::from_str_radix(key, 16).ok()).is_some_and(|found| found > sequence)
}

impl Truth {
    pub(super) fn of(disk: &Arc<MemoryDisk>) -> Self {
        let Seen { items, needs, tables, counters, .. } = look(disk);
        let file = disk.open("records.redb", Mode::Read).unwrap();
        // From the file itself, because opening the copy has written to it.
        let sequence = {
            let copied: SharedDisk = super::copy(&**disk);
            let options =
                crate::records::RecordFileOptions { cache_bytes: 1 << 20, quick_repair: false };
            let records = crate::records::RecordFile::open(&copied, options).unwrap();
            let snapshot = records.snapshot(0).unwrap();
            let row = ReadSource::Snapshot(&snapshot).get(Space::Meta, b"state").unwrap().unwrap();
            u64::from_be_bytes(row[..8].try_into().unwrap())
        };
        Self { items, needs, tables, counters, pages: page_map(&*file), sequence }
    }

    /// The items that a salvaged store lacks, and lacking rows of tables as their number. Fails on
    /// anything that the store should not have.
    pub(super) fn missing(&self, disk: &Arc<MemoryDisk>) -> BTreeMap<String, u64> {
        self.compare(disk).unwrap()
    }

    fn compare(&self, disk: &Arc<MemoryDisk>) -> Result<BTreeMap<String, u64>, String> {
        let found = look(disk);
        let mut missing = BTreeMap::new();
        for (name, value) in &found.items {
            match self.items.get(name) {
                // The salvage itself made changes after the last commit.
                None if is_log_after(name, self.sequence) => {}
                None => return Err(format!("{name} is not in the last commit")),
                Some(truth) if truth == value => {}
                // It is generated anew if it is lost; the seed is in FORMAT too.
                Some(_) if name.starts_with("fact") => drop(missing.insert(name.clone(), 1)),
                Some(_) => return Err(format!("{name} is not what the last commit says")),
            }
        }
        missing.extend(
            self.items
                .keys()
                .filter(|name| !found.items.contains_key(*name))
                .map(|name| (name.clone(), 1)),
        );
        for (id, truth) in &self.tables {
            let Some(rows) = found.tables.get(id) else {
                if !truth.is_empty() {
                    missing.insert(format!("rows|{id}"), truth.len() as u64);
                }
                continue;
            };
            let mut left = truth.iter();
            for row in rows {
                if !left.any(|t| t == row) {
                    return Err(format!("table {id} has the row {row} too often"));
                }
            }
            if rows.len() < truth.len() {
                missing.insert(format!("rows|{id}"), (truth.len() - rows.len()) as u64);
            }
        }
        for (name, counter) in &self.counters {
            if found.counters.get(name).is_none_or(|now| now < counter) {
                let name = String::from_utf8_lossy(name);
                return Err(format!(
                    "the counter {name} went back from {counter} to {:?}",
                    found.counters.get(name.as_bytes())
                ));
            }
        }
        if found.sequence < self.sequence {
            return Err(format!(
                "the sequence went back from {} to {}",
                self.sequence, found.sequence
            ));
        }
        Ok(missing)
    }

    /// The place of the leaf with an entry.
    pub(super) fn leaf_of(&self, space: Space, key: &[u8]) -> Range<u64> {
        let wanted = (space, key.to_vec());
        self.pages.iter().find(|page| page.entries.contains(&wanted)).unwrap().place.clone()
    }

    /// The places of the leaves with entries of a space.
    pub(super) fn leaves_of(&self, space: Space) -> Vec<Range<u64>> {
        let holds = |page: &&MappedPage| page.entries.iter().any(|(of, _)| *of == space);
        self.pages.iter().filter(holds).map(|page| page.place.clone()).collect()
    }

    /// Ids of all tables.
    pub(super) fn table_ids(&self) -> Vec<String> {
        self.tables.keys().cloned().collect()
    }

    /// Ids of the records of a kind, from these names of items.
    pub(super) fn ids_of<'n>(
        &self,
        kind: &str,
        names: impl Iterator<Item = &'n String>,
    ) -> Vec<String> {
        let of_kind = names.filter(|name| name.split('|').next() == Some(kind));
        let keys = of_kind
            .flat_map(|name| &self.needs[name].entries)
            .filter(|(space, _)| *space == Space::Records);
        keys.map(|(space, key)| crate::store::salvage::key_text(*space, key)).collect()
    }

    /// The place of the page with the names of the tables.
    pub(super) fn tree_of_tables(&self) -> Range<u64> {
        self.pages.iter().find(|page| page.above.len() == 1).unwrap().place.clone()
    }

    /// Keys of records that an earlier state does not have.
    pub(super) fn added_since(&self, earlier: &Self) -> Vec<Vec<u8>> {
        let added = self.needs.iter().filter(|(name, _)| !earlier.needs.contains_key(*name));
        let keys = added
            .flat_map(|(_, needs)| &needs.entries)
            .filter(|(space, _)| *space == Space::Records);
        keys.map(|(_, key)| key.clone()).collect()
    }

    /// Names of the items that need an entry of this leaf.
    pub(super) fn items_in(&self, leaf: &Range<u64>) -> BTreeSet<String> {
        let page = self.pages.iter().find(|page| page.place == *leaf).unwrap();
        let is_in = |needs: &Needs| needs.entries.iter().any(|entry| page.entries.contains(entry));
        self.needs.iter().filter(|(_, needs)| is_in(needs)).map(|(name, _)| name.clone()).collect()
    }

    /// Whether a page of the tables begins at `at`.
    pub(super) fn is_page(&self, at: u64) -> bool {
        self.pages.iter().any(|page| page.place.start == at)
    }

    /// The places of the branch pages, and the number of leaves.
    pub(super) fn places(&self) -> (Vec<Range<u64>>, usize) {
        let (branches, leaves): (Vec<_>, Vec<_>) =
            self.pages.iter().partition(|page| page.entries.is_empty());
        (branches.into_iter().map(|page| page.place.clone()).collect(), leaves.len())
    }

    /// As [`Self::missing`], for a store in the state of an earlier commit.
    pub(super) fn missing_of_older(&self, disk: &Arc<MemoryDisk>) -> BTreeMap<String, u64> {
        let found = look(disk);
        let missing =
            self.items.iter().filter(|(name, value)| found.items.get(*name) != Some(value));
        missing.map(|(name, _)| (name.clone(), 1)).collect()
    }

    /// Judges a salvaged store; returns the number of items that it lacks. If it is not known which
    /// commit was read, its pages may be others than those of this state.
    pub(super) fn judge(
        &self,
        damage: &Damage,
        is_closed: bool,
        is_known: bool,
        touched: &[Touched],
        report: &SalvageReport,
        into: &Arc<MemoryDisk>,
    ) -> Result<u64, String> {
        let missing = self.compare(into)?;
        let overlaps = |place: &Range<u64>| {
            let in_it = |one: &&Touched| one.range.start < place.end && place.start < one.range.end;
            touched.iter().filter(|one| one.path == "records.redb").any(|one| in_it(&one))
        };
        let is_file_touched = |path: &str| touched.iter().any(|one| one.path == path);
        let (mut leaves, mut below) = (BTreeSet::new(), BTreeSet::new());
        let mut pages = 0;
        for page in &self.pages {
            pages += usize::from(overlaps(&page.place));
            if overlaps(&page.place) {
                leaves.extend(page.entries.iter().cloned());
            }
            if page.above.iter().any(&overlaps) {
                below.extend(page.entries.iter().cloned());
            }
        }
        let header = overlaps(&(0..320));
        let is_large = !is_closed
            || header
            || !matches!(damage, Damage::Flip { .. } | Damage::ZeroSector { .. });
        for (name, count) in &missing {
            let needs = &self.needs[name];
            let is_touched = needs.files.iter().any(|path| is_file_touched(path))
                || needs
                    .entries
                    .iter()
                    .any(|entry| leaves.contains(entry) || (is_large && below.contains(entry)));
            if !is_touched && is_known {
                return Err(format!(
                    "{name} ({count}) is missing, which the damage did not touch: {report:#?}"
                ));
            }
            let kind = name.split('|').next().unwrap_or_default();
            let of_rows = ["table", "segment", "buffered append"];
            let is_told = report.lost_left_out > 0
                || (kind == "rows"
                    && report.lost.iter().any(|lost| of_rows.contains(&lost.kind.as_str())))
                || report.lost.iter().any(|lost| {
                    lost.kind == kind || lost.kind == "records" || lost.kind == "commits"
                });
            if !is_told {
                return Err(format!(
                    "{name} is missing and the report does not say so: {report:#?}"
                ));
            }
        }
        if let (Damage::Flip { path, .. }, false) = (damage, missing.is_empty()) {
            if path.starts_with("tables/") {
                return Err(format!("a wrong bit in {path} lost {missing:?}: {report:#?}"));
            }
        }
        let is_derived = |path: &str| {
            path == "FORMAT" || path.starts_with("LOCK") || path.starts_with("search/")
        };
        let touches_what_counts =
            touched.iter().any(|one| !is_derived(&one.path) && one.path != "records.redb")
                || pages > 0;
        if !touches_what_counts && !is_large && !report.is_complete() {
            return Err(format!("nothing that counts was touched: {report:#?}"));
        }
        if report.is_complete() && !missing.is_empty() {
            return Err(format!(
                "{missing:?} is missing from a salvage that calls itself complete"
            ));
        }
        Ok(missing.values().sum())
    }
}
