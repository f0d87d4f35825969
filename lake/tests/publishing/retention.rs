//! Rows that a retention deletes at the station stay in the lake, unless the layout says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use object_store::path::Path;
use serde_json::json;
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::tables::{TableId, TableMetadata};
use stationdb::{Control, Store};
use stationdb_lake::faults::{Check, set_small_files};
use stationdb_lake::{LakeTable, Layout, Publisher};

use crate::common::*;

/// One root, or a second one for the workspace `away`; the answer of `retains` can change.
#[derive(Clone)]
struct Retains {
    is_kept: Arc<AtomicBool>,
    lake_table: LakeTable,
}

impl Retains {
    fn new(is_kept: bool) -> Self {
        let is_kept = Arc::new(AtomicBool::new(is_kept));
        Self { is_kept, lake_table: LakeTable::by_columns("rows") }
    }

    /// All rows in one lake table.
    fn in_one(is_kept: bool) -> Self {
        Self { lake_table: LakeTable::named("measured"), ..Self::new(is_kept) }
    }
}

impl Layout for Retains {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from("lake"), Path::from("away")]
    }

    fn root(&self, workspace: &str) -> Option<Path> {
        Some(Path::from(if workspace == "away" { "away" } else { "lake" }))
    }

    fn rows(&self, _table: &TableMetadata) -> Option<LakeTable> {
        Some(self.lake_table.clone())
    }

    fn retains(&self, _table: &TableMetadata) -> bool {
        self.is_kept.load(Ordering::SeqCst)
    }
}

/// The ordinals of the live rows of a table.
fn live(objects: &Objects, root: &str, id: &TableId) -> Vec<i64> {
    let rows = live_rows(objects, root, "s1").into_keys();
    rows.filter(|(table, _)| *table == id.to_string()).map(|(_, row)| row).collect()
}

fn of(ranges: &[(i64, i64)]) -> Vec<i64> {
    ranges.iter().flat_map(|(from, before)| *from..*before).collect()
}

#[test]
fn retired_rows_stay_and_what_callers_delete_goes() {
    let (store, objects, id) = filled(0..100);
    let session = ada(&store);
    let default = publisher(&store, &objects, lake(), "s1");
    publish(&default);
    // In one publication, callers beside the retention on both sides.
    delete(&session, &id, 10, 12);
    retire(&store, &id, 68);
    delete(&session, &id, 32, 34);
    let published = publish(&default);
    assert_eq!(live(&objects, "lake", &id), of(&[(0, 10), (12, 32), (34, 100)]));
    assert_eq!(published.rows, 0);
    // Station rows and retired rows.
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(66));
    assert_eq!(live(&objects, "lake", &id).len(), 66 + 30);
    // Across publications, and by a new publisher.
    delete(&session, &id, 34, 36);
    publish(&publisher(&store, &objects, lake(), "s1"));
    retire(&store, &id, 50);
    publish(&publisher(&store, &objects, lake(), "s1"));
    let expected = of(&[(0, 10), (12, 32), (36, 100)]);
    assert_eq!(live(&objects, "lake", &id), expected);
    // Rows that a retention deletes before they are sent never come, and nothing loops on it.
    append(&session, &id, 100..200);
    retire(&store, &id, 40);
    let published = publish(&default);
    assert_eq!(published.rows, 40);
    assert_eq!(live(&objects, "lake", &id), [expected, of(&[(160, 200)])].concat());
    let again = publish(&default);
    assert_eq!((again.rows, again.commits), (0, 0));
    append(&session, &id, 200..210);
    assert_eq!(publish(&default).rows, 10);
    // The whole table takes them along.
    session.delete_table(&id).unwrap();
    publish(&default);
    assert_eq!(live(&objects, "lake", &id), of(&[]));
}

#[test]
fn a_layout_lets_retired_rows_go() {
    let (store, objects, id) = filled(0..100);
    let session = ada(&store);
    let publisher = publisher(&store, &objects, Retains::new(false), "s1");
    publish(&publisher);
    delete(&session, &id, 10, 12);
    retire(&store, &id, 68);
    publish(&publisher);
    equal(&store, &objects, "s1");
    assert_eq!(live(&objects, "lake", &id), of(&[(32, 100)]));
}

/// More ranges than an event names, so that the publisher lists them, of the asked cause alone.
#[test]
fn ranges_that_no_event_names_are_listed_by_cause() {
    for is_kept in [true, false] {
        let (store, objects) = (store(), objects());
        let session = ada(&store);
        let id = small_table(&session, "a", "");
        // Every second row has a great index, so that a range of the index is many of ordinals.
        let index = |row: i64| if row % 2 == 0 { row } else { row + 1_000_000 };
        append(&session, &id, (0..10_000).map(index));
        let publisher = publisher(&store, &objects, Retains::new(is_kept), "s1");
        publish(&publisher);
        delete(&session, &id, 0, 8_400);
        // The rows between those.
        retire(&store, &id, 1_600);
        publish(&publisher);
        let stay = (0..8_400).filter(|row| is_kept && row % 2 == 1);
        let expected: Vec<i64> = stay.chain(8_400..10_000).collect();
        assert_eq!(live(&objects, "lake", &id), expected);
    }
}

/// A store that keeps a short change log, whoever holds it.
fn forgetful() -> Store {
    let options = Store::options().maintenance_thread(false).log_entries_max(10);
    let disk = Arc::new(MemoryDisk::new());
    options.subscriber_hold_bytes(0).open_disk(disk).unwrap()
}

/// Appends 60 rows, each with its event, and trims the change log.
fn trim(store: &Store, id: &TableId, first: i64) {
    for row in first..first + 60 {
        append(&ada(store), id, row..row + 1);
        store.maintain(&Control::default()).unwrap();
    }
}

#[test]
fn a_full_pass_lists_what_callers_deleted_alone() {
    for is_kept in [true, false] {
        let (store, objects) = (forgetful(), objects());
        let session = ada(&store);
        let id = small_table(&session, "a", "");
        append(&session, &id, 0..100);
        let layout = Retains::new(is_kept);
        let new = || publisher(&store, &objects, layout.clone(), "s1");
        publish(&new());
        delete(&session, &id, 10, 12);
        retire(&store, &id, 68);
        trim(&store, &id, 100);
        assert_eq!(publish(&new()).full_passes, ["lake", "away"]);
        let retired = [(0, 10), (12, 32)];
        let stay = if is_kept { &retired[..] } else { &[] };
        let expected = [of(stay), of(&[(32, 160)])].concat();
        assert_eq!(live(&objects, "lake", &id), expected);
        // The layout changes its mind: for what goes from now on, and for all by a full pass.
        layout.is_kept.store(!is_kept, Ordering::SeqCst);
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), expected);
        retire(&store, &id, 100);
        publish(&new());
        let first = if is_kept { 60 } else { 32 };
        let expected = [of(stay), of(&[(first, 160)])].concat();
        assert_eq!(live(&objects, "lake", &id), expected);
        trim(&store, &id, 160);
        assert_eq!(publish(&new()).full_passes, ["lake", "away"]);
        let expected = if is_kept { of(&[(60, 220)]) } else { of(&[(32, 220)]) };
        assert_eq!(live(&objects, "lake", &id), expected);
    }
}

#[test]
fn retired_rows_stay_with_the_columns_that_they_had() {
    for layout in [Retains::new(true), Retains::in_one(true)] {
        let (store, objects, id) = filled(0..100);
        let session = ada(&store);
        let new = || publisher(&store, &objects, layout.clone(), "s1");
        publish(&new());
        delete(&session, &id, 0, 5);
        retire(&store, &id, 75);
        rename(&session, &id, "value", "volts");
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), of(&[(5, 100)]));
        let rows = live_rows(&objects, "lake", "s1");
        let columns =
            |row: i64| -> Vec<String> { rows[&(id.to_string(), row)].keys().cloned().collect() };
        assert_eq!(
            (columns(24), columns(25)),
            (vec!["n".into(), "value".into()], vec!["n".into(), "volts".into()])
        );
        // Rows of both eras go by callers and by the retention, and back to the first columns.
        delete(&session, &id, 30, 32);
        retire(&store, &id, 60);
        publish(&new());
        rename(&session, &id, "volts", "value");
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), of(&[(5, 30), (32, 100)]));
        // All rows are retired, and then the table gets other columns.
        retire(&store, &id, 1);
        delete(&session, &id, 99, 100);
        rename(&session, &id, "value", "amperes");
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), of(&[(5, 30), (32, 99)]));
        append(&session, &id, 100..110);
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), of(&[(5, 30), (32, 99), (100, 110)]));
        session.delete_table(&id).unwrap();
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), of(&[]));
    }
}

/// Publishes until that many commits were made. Returns whether the lake has another complete batch.
fn is_completed(objects: &Objects, publisher: Publisher, commits: u64) -> bool {
    let before = complete(objects, "lake", "s1");
    let is_whole = interrupted(publisher, commits);
    is_whole || complete(objects, "lake", "s1") != before
}

/// What happens while the rows of a table are sent again, which crashes again and again.
fn interrupted_again_and_again(layout: &Retains, commits: [u64; 2], is_back: bool) {
    let (store, objects, id) = filled(0..1_000);
    let session = ada(&store);
    store.maintain(&Control::default()).unwrap();
    append(&session, &id, 1_000..1_200);
    let new = || publisher(&store, &objects, layout.clone(), "s1");
    publish(&new());
    delete(&session, &id, 0, 5);
    retire(&store, &id, 1_145);
    publish(&new());
    let before = live_rows(&objects, "lake", "s1");
    let names = ["value", "volts", if is_back { "value" } else { "amperes" }];
    let mut is_whole = false;
    for (at, commits) in commits.into_iter().enumerate() {
        rename(&session, &id, names[at], names[at + 1]);
        delete(&session, &id, 1_100 + 20 * at as i64, 1_105 + 20 * at as i64);
        retire(&store, &id, 1_100 - 300 * at as u64);
        is_whole |= is_completed(&objects, new(), commits);
        let is_same = || live_rows(&objects, "lake", "s1") == before;
        assert!(is_whole || is_same(), "a part is seen");
        retire(&store, &id, 900 - 300 * at as u64);
    }
    publish(&new());
    assert_eq!(live(&objects, "lake", &id), of(&[(5, 1_100), (1_105, 1_120), (1_125, 1_200)]));
    // Nothing waits for a later publication.
    append(&session, &id, 1_200..1_210);
    publish(&new());
    assert_eq!(live(&objects, "lake", &id), of(&[(5, 1_100), (1_105, 1_120), (1_125, 1_210)]));
    session.delete_table(&id).unwrap();
    publish(&new());
    assert_eq!(live(&objects, "lake", &id), of(&[]));
}

/// Commits in parts, so that a crash is also between those of a table.
fn in_parts(scenario: impl Fn()) {
    set_small_files(1 << 18);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(scenario));
    set_small_files(1);
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

fn interrupted_after(layout: &Retains, commits: &[u64]) {
    in_parts(|| {
        for first in commits {
            for second in [2, 5, 8] {
                interrupted_again_and_again(layout, [*first, second], second == 5);
            }
        }
    });
}

#[test]
fn an_interrupted_publication_leaves_no_row_to_the_retention() {
    for layout in [Retains::new(true), Retains::in_one(true)] {
        needs(Check::GoneLast, || interrupted_after(&layout, &[1, 2, 3, 4, 5, 6, 7, 8]));
    }
}

#[test]
fn rows_that_were_retired_before_others_were_sent_again_are_told_from_those_after() {
    for layout in [Retains::new(true), Retains::in_one(true)] {
        needs(Check::RetiredBefore, || interrupted_after(&layout, &[4]));
    }
}

#[test]
fn what_stayed_goes_when_the_layout_or_the_table_goes_elsewhere() {
    for lets_go in [true, false] {
        let (store, objects) = (forgetful(), objects());
        let session = ada(&store);
        let id = small_table(&session, "a", "");
        append(&session, &id, 0..100);
        let layout = Retains::new(true);
        let new = || publisher(&store, &objects, layout.clone(), "s1");
        publish(&new());
        retire(&store, &id, 75);
        rename(&session, &id, "value", "volts");
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), of(&[(0, 100)]));
        if lets_go {
            layout.is_kept.store(false, Ordering::SeqCst);
            trim(&store, &id, 100);
            assert_eq!(publish(&new()).full_passes, ["lake", "away"]);
            assert_eq!(live(&objects, "lake", &id), of(&[(25, 160)]));
            continue;
        }
        session.modify_table(&id, from(json!({ "workspace": "away" }))).unwrap();
        publish(&new());
        assert_eq!(live(&objects, "lake", &id), of(&[]));
        assert_eq!(live(&objects, "away", &id), of(&[(25, 100)]));
    }
}

#[test]
fn a_rebased_lake_has_what_the_station_has() {
    let (store, objects, id) = filled(0..100);
    let session = ada(&store);
    let publisher = publisher(&store, &objects, lake(), "s1");
    publish(&publisher);
    retire(&store, &id, 75);
    rename(&session, &id, "value", "volts");
    publish(&publisher);
    assert_eq!(live(&objects, "lake", &id).len(), 100);
    publisher.rebase(&Control::default()).unwrap();
    publish(&publisher);
    equal(&store, &objects, "s1");
    retire(&store, &id, 50);
    delete(&session, &id, 50, 52);
    publish(&publisher);
    assert_eq!(live(&objects, "lake", &id), of(&[(25, 50), (52, 100)]));
}

/// Numbers that look random (xorshift64*).
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: i64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        (mixed % end.max(1).unsigned_abs()).cast_signed()
    }
}

/// The lake has the rows of the station, and those that it had when a retention deleted them. Those
/// that only an interrupted publication sent may be there too.
fn follows_the_model(seed: u64) {
    let mut rng = Rng(seed + 1);
    let (store, objects) = (store(), objects());
    let session = ada(&store);
    let id = small_table(&session, "a", "");
    let mut layout =
        if seed.is_multiple_of(2) { Retains::new(true) } else { Retains::in_one(true) };
    let mut kept = publisher(&store, &objects, layout.clone(), "s1");
    let (mut next, mut name) = (0, "value".to_owned());
    let mut alive: BTreeSet<i64> = BTreeSet::new();
    let mut retired: BTreeSet<i64> = BTreeSet::new();
    let mut sent: BTreeMap<i64, Row> = BTreeMap::new();
    // What interrupted publications may have sent since.
    let mut begun: BTreeSet<i64> = BTreeSet::new();
    for step in 0..30 {
        let case = format!("seed {seed}, step {step}");
        match rng.below(10) {
            what @ (0..=2 | 9) => {
                let count = 1 + rng.below(60);
                append(&session, &id, next..next + count);
                alive.extend(next..next + count);
                next += count;
                if what == 9 {
                    let lake_table = match rng.below(3) {
                        0 => LakeTable::by_columns("rows"),
                        1 => LakeTable::named("measured"),
                        _ => LakeTable::named("others"),
                    };
                    layout = Retains { lake_table, ..layout };
                    kept = publisher(&store, &objects, layout.clone(), "s1");
                }
            }
            3 | 4 => {
                let from = rng.below(next);
                let before = from + 1 + rng.below(12);
                delete(&session, &id, from, before);
                alive.retain(|row| !(from..before).contains(row));
            }
            5 | 6 => {
                let most = (alive.len() as i64 - rng.below(40)).max(1);
                retire(&store, &id, most.unsigned_abs());
                while alive.len() as i64 > most {
                    retired.extend(alive.pop_first());
                }
            }
            7 => {
                let other = format!("value{}", rng.below(3));
                if other != name {
                    rename(&session, &id, &name, &other);
                    name = other;
                }
            }
            _ => {
                kept.rebase(&Control::default()).unwrap();
                sent.clear();
                begun.clear();
            }
        }
        let mut is_whole = false;
        if rng.below(3) == 0 {
            let crashing = publisher(&store, &objects, layout.clone(), "s1");
            let commits = 1 + rng.below(6).unsigned_abs();
            let before = live_rows(&objects, "lake", "s1");
            is_whole = is_completed(&objects, crashing, commits);
            if !is_whole {
                let is_same = live_rows(&objects, "lake", "s1") == before;
                assert!(is_same, "a part is seen, {case}");
                begun.extend(&alive);
            }
        }
        if !is_whole {
            if rng.below(2) == 0 {
                continue;
            }
            if rng.below(3) == 0 {
                kept = publisher(&store, &objects, layout.clone(), "s1");
            }
            publish(&kept);
        }
        let found = live_rows(&objects, "lake", "s1");
        let mut expected = store_rows(&session, |_| true);
        for ((_, row), cells) in &found {
            let had = sent.get(row).filter(|_| !begun.contains(row));
            if retired.contains(row) && (had.is_some() || begun.contains(row)) {
                let cells = had.unwrap_or(cells);
                expected.insert((id.to_string(), *row), cells.clone());
                let value = cells.iter().find(|(name, _)| name.starts_with("value")).unwrap().1;
                assert_eq!(value.parse::<f64>().unwrap(), *row as f64 * 0.5, "{case}");
            }
        }
        let wanted = alive.iter().chain(retired.iter().filter(|row| sent.contains_key(*row)));
        let lost: Vec<i64> =
            wanted.copied().filter(|row| !found.contains_key(&(id.to_string(), *row))).collect();
        assert_eq!(lost, of(&[]), "lost, {case}");
        let rows = |rows: &Rows| rows.keys().map(|(_, row)| *row).collect::<Vec<i64>>();
        assert_eq!(rows(&found), rows(&expected), "{case}");
        let other = found.iter().find(|(key, row)| expected[*key] != **row);
        assert_eq!(other, None, "{case}");
        sent = found.into_iter().map(|((_, row), cells)| (row, cells)).collect();
        begun.clear();
    }
}

#[test]
fn the_lake_follows_the_model() {
    let seeds = sizes::size("lake_models");
    (0..seeds).for_each(follows_the_model);
}

#[test]
fn the_lake_follows_the_model_in_parts() {
    let seeds = sizes::size("lake_models");
    in_parts(|| (1_000..1_000 + seeds).for_each(follows_the_model));
}
