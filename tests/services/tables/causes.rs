//! Which deleted rows went by a retention, and which a caller deleted.

use crate::prelude::*;

use super::column;

/// First and last ordinal, and whether the rows went by a retention.
type Ranges = Vec<(i64, i64, bool)>;

fn open(disk: &Arc<MemoryDisk>) -> (Store, Session) {
    let options = Store::options().maintenance_thread(false).seal_rows(50);
    let (store, ada) = opened(options, disk.clone());
    (store, ada)
}

fn create(ada: &Session) -> TableId {
    let columns = vec![column("t", DataType::Int64, ColumnType::Index)];
    ada.create_table(CreateTableRequest::new(columns)).unwrap()
}

/// Appends rows whose index is their ordinal.
fn append(ada: &Session, id: &TableId, rows: std::ops::Range<i64>) {
    let data: Vec<_> = rows.map(|row| vec![Some(row.to_string())]).collect();
    let request = AppendTableDataRequest::new().frame(DataFrame::new().data(data));
    ada.append_table_data(id, request).unwrap();
}

fn between(from: i64, before: i64) -> DeleteRowsRequest {
    DeleteRowsRequest::new().index_from(from.to_string()).index_before(before.to_string())
}

fn keep(store: &Store, ada: &Session, id: &TableId, rows: u64) {
    ada.set_retention(id, SetRetentionRequest::new().rows_max(rows)).unwrap();
    store.maintain(&Control::default()).unwrap();
}

fn listed(ada: &Session, id: &TableId, request: &ListDeletedRowsRequest) -> Ranges {
    let list = ada.list_deleted_rows(id, request.clone()).unwrap();
    list.ranges.iter().map(|it| (it.first, it.last, it.retention == Some(true))).collect()
}

fn all(ada: &Session, id: &TableId) -> Ranges {
    listed(ada, id, &ListDeletedRowsRequest::new().take(10_000))
}

/// Callers delete 3 to 4, 8 to 9 and 15, and a retention all others before 10.
fn both(disk: &Arc<MemoryDisk>) -> (Store, Session, TableId) {
    let (store, ada) = open(disk);
    let id = create(&ada);
    append(&ada, &id, 0..20);
    ada.delete_rows(&id, between(3, 5)).unwrap();
    ada.delete_rows(&id, between(8, 9)).unwrap();
    keep(&store, &ada, &id, 11);
    // Beside what has gone, on both sides.
    ada.delete_rows(&id, between(8, 10)).unwrap();
    ada.delete_rows(&id, between(15, 16)).unwrap();
    (store, ada, id)
}

#[test]
fn the_list_and_the_event_tell_what_went_by_a_retention() {
    let (_store, ada, id) = both(&Arc::new(MemoryDisk::new()));
    let whole = [(0, 2, true), (3, 4, false), (5, 7, true), (8, 9, false), (15, 15, false)];
    assert_eq!(all(&ada, &id), whole);
    let list = ListDeletedRowsRequest::new;
    assert_eq!(listed(&ada, &id, &list().retention(true)), [whole[0], whole[2]]);
    assert_eq!(listed(&ada, &id, &list().retention(false)), [whole[1], whole[3], whole[4]]);
    // A part that begins inside of a range, and the place where the list goes on.
    let part = ada.list_deleted_rows(&id, list().from(6).take(2)).unwrap();
    let wire = serde_json::to_value(&part).unwrap();
    let ranges = json!([{ "first": 6, "last": 7, "retention": true }, { "first": 8, "last": 9 }]);
    assert_eq!(wire, json!({ "ranges": ranges, "totalRowCount": 11, "next": 15 }));
    let part = ada.list_deleted_rows(&id, list().retention(true).take(1)).unwrap();
    assert_eq!((part.total_row_count, part.next), (11, Some(5)));
    let end = ada.list_deleted_rows(&id, list().retention(true).from(5).take(1)).unwrap();
    assert_eq!((end.ranges.len(), end.next), (1, None));
    let none = ada.list_deleted_rows(&id, list().take(0)).unwrap();
    assert_eq!((none.ranges.len(), none.next), (0, Some(0)));
    let mut changes = ada.changes(Position::START);
    let events = std::iter::from_fn(|| changes.poll().unwrap());
    let details = events.filter(|event| event.what == What::RowsDeleted).filter_map(|it| it.detail);
    let told: Vec<_> =
        details.map(|it| (it["ordinals"].clone(), it.get("retention").cloned())).collect();
    let by_caller = |ordinals| (ordinals, None);
    assert_eq!(
        told,
        [
            by_caller(json!([[3, 4]])),
            by_caller(json!([[8, 8]])),
            (json!([[0, 2], [5, 7]]), Some(json!(true))),
            by_caller(json!([[9, 9]])),
            by_caller(json!([[15, 15]])),
        ]
    );
}

#[test]
fn what_goes_by_a_retention_is_remembered_by_a_backup_and_a_salvage() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, ada, id) = both(&disk);
    let expected = all(&ada, &id);
    let [backup, salvaged] = [(); 2].map(|()| Arc::new(MemoryDisk::new()));
    let into: SharedDisk = backup.clone();
    store.backup_disk(&into, &Control::default()).unwrap();
    drop((ada, store));
    let (from, into): (SharedDisk, SharedDisk) = (disk.clone(), salvaged.clone());
    Store::salvage_disk(&from, &into, &Control::default()).unwrap();
    for disk in [disk, backup, salvaged] {
        let (store, ada) = open(&disk);
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        assert_eq!(all(&ada, &id), expected);
        keep(&store, &ada, &id, 4);
        assert_eq!(all(&ada, &id)[4..], [(10, 14, true), (15, 15, false)]);
    }
}

#[test]
fn rows_that_go_by_a_retention_from_the_front_are_one_range() {
    let (store, ada) = open(&Arc::new(MemoryDisk::new()));
    let id = create(&ada);
    for turn in 0..20 {
        append(&ada, &id, turn * 30..(turn + 1) * 30);
        keep(&store, &ada, &id, 10);
    }
    assert_eq!(all(&ada, &id), [(0, 589, true)]);
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

/// The ranges of ordinals with the same cause.
fn ranges_of(causes: &[Option<bool>], wanted: Option<bool>) -> Ranges {
    let mut ranges = Ranges::new();
    for (at, cause) in (0..).zip(causes) {
        let Some(cause) = cause.filter(|cause| wanted.is_none_or(|wanted| wanted == *cause)) else {
            continue;
        };
        match ranges.last_mut() {
            Some((_, last, known)) if *last + 1 == at && *known == cause => *last = at,
            _ => ranges.push((at, at, cause)),
        }
    }
    ranges
}

/// A table and a list of the cause with which each row went, through deletions of both kinds.
fn follows_the_model(seed: u64) {
    let mut rng = Rng(seed + 1);
    let mut disk = Arc::new(MemoryDisk::new());
    let (mut store, mut ada) = open(&disk);
    let id = create(&ada);
    let mut causes: Vec<Option<bool>> = Vec::new();
    for _ in 0..60 {
        match rng.below(7) {
            0 | 1 => {
                let (from, count) = (causes.len() as i64, 1 + rng.below(40));
                append(&ada, &id, from..from + count);
                causes.resize(causes.len() + count as usize, None);
            }
            2 | 3 => {
                let from = rng.below(causes.len() as i64);
                let before = from + rng.below(12);
                let is_refused = rng.below(3) == 0;
                let deleted = ada.transaction(|tx| {
                    tx.delete_rows(&id, between(from, before))?;
                    if is_refused { Err(Error::invalid("never mind")) } else { Ok(()) }
                });
                assert_eq!(deleted.is_err(), is_refused);
                let end = if is_refused { from } else { before.min(causes.len() as i64) };
                for cause in causes.iter_mut().take(end as usize).skip(from as usize) {
                    *cause = cause.or(Some(false));
                }
            }
            4 => {
                let live = causes.iter().filter(|cause| cause.is_none()).count();
                let most = (live - rng.below(1 + live as i64 / 3) as usize).max(1);
                keep(&store, &ada, &id, most as u64);
                ada.delete_retention(&id).unwrap();
                let first = causes.iter_mut().filter(|cause| cause.is_none());
                first.take(live.saturating_sub(most)).for_each(|cause| *cause = Some(true));
            }
            5 => drop(store.maintain(&Control::default()).unwrap()),
            _ => {
                if rng.below(2) == 0 {
                    let copy = Arc::new(MemoryDisk::new());
                    let into: SharedDisk = copy.clone();
                    store.backup_disk(&into, &Control::default()).unwrap();
                    disk = copy;
                }
                drop((ada, store));
                (store, ada) = open(&disk);
            }
        }
        let wanted = [None, Some(false), Some(true)][rng.below(3) as usize];
        let (take, mut from, mut found) = (1 + rng.below(4), Some(0), Ranges::new());
        while let Some(at) = from {
            let mut request = ListDeletedRowsRequest::new().from(at).take(take);
            request.retention = wanted;
            found.extend(listed(&ada, &id, &request));
            let part = ada.list_deleted_rows(&id, request).unwrap();
            let gone = causes.iter().flatten().count();
            assert_eq!(part.total_row_count, gone as i64, "seed {seed}");
            from = part.next;
        }
        assert_eq!(found, ranges_of(&causes, wanted), "seed {seed}");
    }
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.findings.is_empty(), "seed {seed}: {:?}", report.findings);
}

#[test]
fn a_table_with_deletions_of_both_kinds_follows_the_model() {
    let seeds = crate::sizes::size("table_models");
    (0..seeds).for_each(follows_the_model);
}
