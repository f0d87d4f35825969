//! Retention: which rows maintenance deletes, what it tells, who keeps rows, what survives.

use crate::prelude::*;

use stationdb::chrono::DateTime;

use super::{column, int64_values};

const NOON: i64 = 1_700_000_000_000;

struct Bench {
    store: Store,
    ada: Session,
    clock: Arc<ManualClock>,
    disk: Arc<MemoryDisk>,
}

fn options(clock: &Arc<ManualClock>) -> StoreOptions {
    Store::options().maintenance_thread(false).seal_rows(100).shared_clock(clock.clone())
}

impl Bench {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(DateTime::from_timestamp_millis(NOON).unwrap()));
        let disk = Arc::new(MemoryDisk::new());
        let (store, ada) = opened(options(&clock), disk.clone());
        Self { store, ada, clock, disk }
    }

    fn table(&self, index: DataType) -> TableId {
        let columns = vec![column("t", index, ColumnType::Index)];
        self.ada.create_table(CreateTableRequest::new(columns)).unwrap()
    }

    fn append(&self, id: &TableId, cells: impl Iterator<Item = String>) {
        let data: Vec<_> = cells.map(|cell| vec![Some(cell)]).collect();
        let request = AppendTableDataRequest::new().frame(DataFrame::new().data(data));
        self.ada.append_table_data(id, request).unwrap();
    }

    fn numbers(&self, id: &TableId, rows: std::ops::Range<i64>) {
        self.append(id, rows.map(|row| row.to_string()));
    }

    fn keep(&self, id: &TableId, request: SetRetentionRequest) {
        self.ada.set_retention(id, request).unwrap();
    }

    /// Runs maintenance, and returns how many rows it deleted.
    fn tidy(&self) -> u64 {
        self.store.maintain(&Control::default()).unwrap().rows_deleted
    }

    fn rows(&self, id: &TableId) -> Vec<i64> {
        let stream = self.ada.scan(id, ScanRequest::new(), &Control::default()).unwrap();
        stream.flat_map(|batch| int64_values(&batch.unwrap(), 0).to_vec()).collect()
    }

    fn cells(&self, id: &TableId) -> Vec<String> {
        let page = self.ada.get_table_data(id, GetTableDataRequest::new().take(10_000)).unwrap();
        page.frame.to_data_frame().data.into_iter().flatten().flatten().collect()
    }

    fn deleted(&self, id: &TableId) -> Vec<(i64, i64)> {
        let list = self.ada.list_deleted_rows(id, ListDeletedRowsRequest::new()).unwrap();
        list.ranges.iter().map(|range| (range.first, range.last)).collect()
    }

    fn bytes(&self, id: &TableId) -> u64 {
        let dir = format!("tables/{id}");
        let files = self.disk.list(&dir).unwrap_or_default();
        let len = |name: &str| {
            let file = self.disk.open(&format!("{dir}/{name}"), Mode::Read).unwrap();
            file.len().unwrap()
        };
        files.iter().map(|file| len(&file.name)).sum()
    }
}

fn named(error: &Error) -> Option<String> {
    error.api_error().name.clone()
}

#[test]
fn the_rows_that_were_appended_first_go_and_the_event_names_them() {
    let bench = Bench::new();
    let (id, other) = (bench.table(DataType::Int64), bench.table(DataType::Int64));
    bench.numbers(&id, 100..110);
    bench.numbers(&id, 0..10);
    bench.numbers(&other, 0..5);
    bench.keep(&id, SetRetentionRequest::new().rows_max(12));
    assert_eq!(bench.rows(&id).len(), 20, "nothing goes before maintenance");
    assert_eq!(bench.tidy(), 8);
    // The order is that of the appends, and not that of the index.
    assert_eq!(bench.rows(&id), (0..10).chain(108..110).collect::<Vec<_>>());
    assert_eq!(bench.ada.get_table_metadata(&id).unwrap().row_count, Some(12));
    assert_eq!(bench.deleted(&id), [(0, 7)]);
    assert_eq!(bench.rows(&other), [0, 1, 2, 3, 4]);
    assert_eq!(bench.tidy(), 0);
    // Rows that a caller deleted count no more, and are not counted twice.
    let few = DeleteRowsRequest::new().index_from("0").index_before("3");
    assert_eq!(bench.ada.delete_rows(&id, few).unwrap().row_count, 3);
    bench.numbers(&id, 200..204);
    assert_eq!(bench.tidy(), 1);
    assert_eq!(bench.rows(&id), [3, 4, 5, 6, 7, 8, 9, 109, 200, 201, 202, 203]);
    let mut changes = bench.ada.changes(Position::START);
    let events: Vec<_> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    let gone: Vec<_> = events
        .iter()
        .filter(|event| event.what == What::RowsDeleted)
        .map(|event| (event.who.as_str(), event.detail.clone().unwrap()))
        .collect();
    let detail = |rows: u64, ordinals: Value| json!({"rowCount": rows, "ordinals": ordinals, "complete": true});
    let by_retention = |mut detail: Value| {
        detail["retention"] = json!(true);
        detail
    };
    assert_eq!(
        gone,
        [
            ("stationdb", by_retention(detail(8, json!([[0, 7]])))),
            ("ada", detail(3, json!([[10, 12]]))),
            ("stationdb", by_retention(detail(1, json!([[8, 8]])))),
        ]
    );
    let set: Vec<_> = events.iter().filter(|event| event.what == What::Updated).collect();
    assert_eq!(set.len(), 1);
    assert_eq!(set[0].detail.as_ref().unwrap()["retention"]["rowsMax"], 12);
}

#[test]
fn rows_go_by_the_time_in_their_index_of_any_unit() {
    for (index, digits) in
        [(DataType::Timestamp, 3), (DataType::TimestampMicros, 6), (DataType::TimestampNanos, 9)]
    {
        let bench = Bench::new();
        let id = bench.table(index);
        let time = |seconds: i64| {
            let time = DateTime::from_timestamp_millis(NOON + seconds * 1000).unwrap();
            format!("{}.{:0digits$}Z", time.format("%Y-%m-%dT%H:%M:%S"), 0)
        };
        // Half of them in a segment.
        bench.append(&id, (-150..0).map(time));
        bench.tidy();
        bench.append(&id, (0..50).map(time));
        bench.keep(&id, SetRetentionRequest::new().index_age_seconds(160));
        let oldest = |at: i64| {
            // Rows go in steps of a sixteenth of the age, and never too early.
            let rows = bench.cells(&id);
            let exact = time(at - 160);
            assert!(rows[0] <= exact || at < 10 + 150, "{index}: {} at {at}", rows[0]);
            assert!(rows[0] >= time(at - 170), "{index}: {} at {at}", rows[0]);
            rows
        };
        for at in (0..200).step_by(7) {
            bench.clock.set(DateTime::from_timestamp_millis(NOON + at * 1000).unwrap());
            bench.tidy();
            oldest(at);
        }
        // What comes late goes, too, although the limit has not moved.
        bench.append(&id, [-120, -119, 45].into_iter().map(time));
        assert_eq!(bench.tidy(), 2, "{index}");
        assert_eq!(bench.cells(&id).last(), Some(&time(49)));
        bench.clock.advance_ms(10_000_000);
        bench.tidy();
        assert_eq!(bench.cells(&id), Vec::<String>::new());
        assert_eq!(bench.deleted(&id), [(0, 202)]);
    }
}

/// An age of 352 years reaches behind the times that nanoseconds count, and a clock may be past them.
#[test]
fn a_limit_that_the_type_of_the_index_cannot_hold_is_before_or_behind_all_rows() {
    let bench = Bench::new();
    let id = bench.table(DataType::TimestampNanos);
    let least = "1677-09-21T00:12:43.145224192Z";
    let times = [least, "2000-01-01T00:00:00Z", "2023-01-01T00:00:00Z"];
    bench.append(&id, times.into_iter().map(str::to_owned));
    bench.keep(&id, SetRetentionRequest::new().index_age_seconds(11_100_000_000).rows_max(2));
    assert_eq!(bench.tidy(), 1, "the other bound counts");
    assert_eq!(bench.deleted(&id), [(0, 0)]);
    bench.keep(&id, SetRetentionRequest::new().index_age_seconds(31_622_400_000));
    assert_eq!(bench.tidy(), 0);
    bench.append(&id, ["2262-04-11T23:47:16.854775807Z".to_owned()].into_iter());
    bench.keep(&id, SetRetentionRequest::new().index_age_seconds(3_600));
    bench.clock.set("2300-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(bench.tidy(), 3);
    assert_eq!(bench.cells(&id), Vec::<String>::new());
}

#[test]
fn rows_go_by_the_time_of_their_append() {
    let bench = Bench::new();
    let id = bench.table(DataType::Int64);
    bench.numbers(&id, 1000..1005);
    bench.clock.advance_ms(100_000);
    // The rows that the table has are as old as its last append.
    bench.keep(&id, SetRetentionRequest::new().append_age_seconds(160));
    bench.clock.advance_ms(59_000);
    assert_eq!(bench.tidy(), 0);
    bench.clock.advance_ms(1_000);
    assert_eq!(bench.tidy(), 5);
    // One row a second, by maintenance each third second. The value is the second.
    for second in 0..600_i64 {
        bench.numbers(&id, second..second + 1);
        bench.clock.advance_ms(1_000);
        if second % 3 == 0 {
            bench.tidy();
            let oldest = bench.rows(&id)[0];
            let age = second - oldest;
            let must = second < 190 || (159..=190).contains(&age);
            assert!(must && (oldest == 0 || age >= 159), "a row of {oldest} at {second}");
        }
    }
    bench.clock.advance_ms(400_000);
    bench.tidy();
    bench.clock.advance_ms(400_000);
    bench.tidy();
    assert_eq!(bench.rows(&id), Vec::<i64>::new());
}

#[test]
fn a_policy_is_set_changed_and_removed() {
    let bench = Bench::new();
    let id = bench.table(DataType::Int64);
    bench.numbers(&id, 0..10);
    let absent = || named(&bench.ada.get_retention(&id).unwrap_err());
    assert_eq!(absent().as_deref(), Some("DataFrame.RetentionNotFound"));
    let error = bench.ada.delete_retention(&id).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let before = bench.ada.get_table_metadata(&id).unwrap().metadata_revision.unwrap();
    bench.keep(&id, SetRetentionRequest::new().rows_max(100).append_age_seconds(60));
    let answer = bench.ada.get_retention(&id).unwrap();
    assert_eq!((answer.rows_max, answer.append_age_seconds), (Some(100), Some(60)));
    assert_eq!(answer.updated_by.as_deref(), Some("ada"));
    assert_eq!(answer.updated_at.unwrap().timestamp_millis(), NOON);
    // A change replaces every bound.
    bench.keep(&id, SetRetentionRequest::new().rows_max(3));
    let answer = bench.ada.get_retention(&id).unwrap();
    assert_eq!((answer.rows_max, answer.append_age_seconds), (Some(3), None));
    bench.ada.delete_retention(&id).unwrap();
    assert!(absent().is_some());
    let after = bench.ada.get_table_metadata(&id).unwrap().metadata_revision.unwrap();
    assert_eq!(after, before + 3);
    bench.clock.advance_ms(1_000_000);
    assert_eq!(bench.tidy(), 0);
    assert_eq!(bench.rows(&id).len(), 10);
}

#[test]
fn what_a_policy_cannot_be_is_refused() {
    let bench = Bench::new();
    let id = bench.table(DataType::Int64);
    let refused = |request: SetRetentionRequest| {
        let error = bench.ada.set_retention(&id, request).unwrap_err();
        (error.kind(), error.to_string())
    };
    let new = SetRetentionRequest::new;
    let (kind, text) = refused(new());
    assert!(kind == ErrorKind::InvalidArgument && text.contains("rowsMax"), "{text}");
    let (kind, text) = refused(new().append_age_seconds(0));
    assert!(kind == ErrorKind::InvalidArgument && text.contains("appendAgeSeconds"), "{text}");
    let (kind, text) = refused(new().index_age_seconds(60));
    assert!(kind == ErrorKind::InvalidArgument && text.contains("INT64"), "{text}");
    let (kind, _) = refused(new().append_age_seconds(u64::MAX));
    assert_eq!(kind, ErrorKind::LimitExceeded);
    let unknown = TableId::from("0123456789abcdef01234567");
    let error = bench.ada.set_retention(&unknown, new().rows_max(1)).unwrap_err();
    assert_eq!(named(&error).as_deref(), Some("DataFrame.TableNotFound"));
    let pinned = bench.ada.pinned().set_retention(&id, new().rows_max(1)).unwrap_err();
    assert_eq!(pinned.kind(), ErrorKind::Unsupported);
    assert!(bench.ada.get_retention(&id).is_err(), "nothing was set");
}

#[test]
fn space_is_given_back_and_an_earlier_reader_keeps_its_rows() {
    let bench = Bench::new();
    let id = bench.table(DataType::Int64);
    for from in (0..200_000).step_by(50_000) {
        bench.numbers(&id, from..from + 50_000);
        bench.tidy();
    }
    let whole = bench.bytes(&id);
    let mut stream = bench.ada.scan(&id, ScanRequest::new(), &Control::default()).unwrap();
    let mut seen = int64_values(&stream.next().unwrap().unwrap(), 0).to_vec();
    bench.keep(&id, SetRetentionRequest::new().rows_max(40_000));
    assert_eq!(bench.tidy(), 160_000);
    bench.tidy();
    seen.extend(stream.flat_map(|batch| int64_values(&batch.unwrap(), 0).to_vec()));
    assert!(seen == (0..200_000).collect::<Vec<_>>(), "{}", seen.len());
    for _ in 0..2 {
        bench.tidy();
    }
    let left = bench.bytes(&id);
    assert!(left * 10 < whole * 3, "{left} of {whole} bytes");
    assert!(bench.rows(&id) == (160_000..200_000).collect::<Vec<_>>());
}

#[test]
fn a_policy_survives_reopening_a_backup_and_a_salvage_and_ends_with_its_table() {
    let Bench { store, ada, clock, disk } = Bench::new();
    let bench = Bench { store, ada, clock: clock.clone(), disk };
    let (id, gone) = (bench.table(DataType::Int64), bench.table(DataType::Int64));
    bench.numbers(&id, 0..10);
    bench.keep(&id, SetRetentionRequest::new().rows_max(4).append_age_seconds(1_000));
    bench.keep(&gone, SetRetentionRequest::new().rows_max(1));
    bench.ada.delete_table(&gone).unwrap();
    let kept = bench.ada.get_retention(&id).unwrap();
    let Bench { store, ada, disk, .. } = bench;
    drop((ada, store));
    let target = Arc::new(MemoryDisk::new());
    let from: stationdb::faults::SharedDisk = disk.clone();
    let into: stationdb::faults::SharedDisk = target.clone();
    Store::salvage_disk(&from, &into, &Control::default()).unwrap();
    for disk in [disk, target] {
        let (store, ada) = opened(options(&clock), disk.clone());
        let bench = Bench { store, ada, clock: clock.clone(), disk };
        assert_eq!(bench.ada.get_retention(&id).unwrap(), kept);
        assert_eq!(bench.tidy(), 6);
        assert_eq!(bench.rows(&id), [6, 7, 8, 9]);
    }
    clock.advance_ms(1_000_000);
}

/// Everybody may read, and only ada may change; the store itself is not asked.
const ONLY_ADA: Rule = Rule(|who, _, action| match (who.user_id(), action) {
    ("ada", _) | ("guest", Action::Read) => Visibility::All,
    _ => Visibility::None,
});

#[test]
fn a_policy_needs_the_permission_to_update_and_maintenance_needs_none() {
    let clock = Arc::new(ManualClock::new(DateTime::from_timestamp_millis(NOON).unwrap()));
    let disk = Arc::new(MemoryDisk::new());
    let (store, ada) = opened(options(&clock).access_policy(ONLY_ADA), disk.clone());
    let bench = Bench { ada, store, clock, disk };
    let id = bench.table(DataType::Int64);
    bench.numbers(&id, 0..10);
    let guest = bench.store.session(Identity::user("guest"));
    let request = SetRetentionRequest::new().rows_max(3);
    let error = guest.set_retention(&id, request.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    bench.keep(&id, request);
    assert_eq!(guest.get_retention(&id).unwrap().rows_max, Some(3));
    assert_eq!(guest.delete_retention(&id).unwrap_err().kind(), ErrorKind::PermissionDenied);
    let stranger = bench.store.session(Identity::user("stranger"));
    let error = stranger.get_retention(&id).unwrap_err();
    assert_eq!(named(&error).as_deref(), Some("DataFrame.TableNotFound"));
    assert_eq!(bench.tidy(), 7);
    assert_eq!(bench.rows(&id), [7, 8, 9]);
}

#[test]
fn rows_are_deleted_by_a_filter_in_the_language() {
    let bench = Bench::new();
    let id = bench.table(DataType::Int64);
    bench.numbers(&id, 0..20);
    let delete = |request: DeleteRowsRequest| bench.ada.delete_rows(&id, request);
    let new = DeleteRowsRequest::new;
    let ends = new().filter("t < 3 or t >= @0").substitutions([json!(18)]);
    assert_eq!(delete(ends).unwrap().row_count, 5);
    assert_eq!(bench.rows(&id), (3..18).collect::<Vec<_>>());
    // Beside the other members: all of them hold.
    let both = new().index_before("6").filter("t != 4");
    assert_eq!(delete(both).unwrap().row_count, 2);
    assert_eq!(bench.rows(&id), [4].into_iter().chain(6..18).collect::<Vec<_>>());
    let error = delete(new().filter("volts > 1")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // A blank filter asks for nothing, and nothing is no reason to delete all rows.
    let error = delete(new().filter(" ")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(bench.rows(&id).len(), 13);
}

#[test]
fn a_clock_that_was_far_ahead_is_told_and_taken_back_on_request() {
    let bench = Bench::new();
    let id = bench.table(DataType::Int64);
    let pass = || bench.store.maintain(&Control::default()).unwrap();
    bench.keep(&id, SetRetentionRequest::new().append_age_seconds(160));
    let far = DateTime::from_timestamp_millis(NOON + 3_600_000_000).unwrap();
    bench.clock.set(far);
    bench.numbers(&id, 0..5);
    assert_eq!(pass().time_ahead, None, "the clock says the same");
    bench.clock.set(DateTime::from_timestamp_millis(NOON).unwrap());
    bench.numbers(&id, 5..10);
    for _ in 0..10 {
        bench.clock.advance_ms(100_000);
        let report = pass();
        assert_eq!((report.rows_deleted, report.time_ahead), (0, Some(far)));
    }
    let json = serde_json::to_value(pass()).unwrap();
    assert_eq!(json["timeAhead"], "2023-12-26T14:13:20.000Z");
    assert_eq!(bench.store.take_present_time().unwrap(), Some(far));
    assert_eq!(bench.store.take_present_time().unwrap(), None);
    assert_eq!(pass().time_ahead, None);
    // What was noted counts as appended at that moment: no row goes before its age.
    bench.clock.advance_ms(159_000);
    assert_eq!(bench.tidy(), 0);
    let Bench { store, ada, clock, disk } = bench;
    drop((store, ada));
    let (store, ada) = opened(options(&clock), disk.clone());
    let bench = Bench { store, ada, clock, disk };
    assert_eq!(bench.store.maintain(&Control::default()).unwrap().time_ahead, None);
    bench.clock.advance_ms(1_000);
    assert_eq!(bench.tidy(), 5);
    bench.clock.advance_ms(30_000);
    bench.tidy();
    bench.clock.advance_ms(160_000);
    bench.tidy();
    assert_eq!(bench.rows(&id), Vec::<i64>::new());
}

/// The rows were last modified at a time that the clock has no more.
#[test]
fn a_retention_that_is_set_after_the_clock_went_back_lets_rows_go() {
    let bench = Bench::new();
    let id = bench.table(DataType::Int64);
    bench.clock.advance_ms(3_600_000_000);
    bench.numbers(&id, 0..5);
    bench.clock.advance_ms(-3_600_000_000);
    assert!(bench.store.take_present_time().unwrap().is_some());
    bench.keep(&id, SetRetentionRequest::new().append_age_seconds(160));
    bench.numbers(&id, 5..10);
    bench.tidy();
    for at in 0..20 {
        bench.clock.advance_ms(10_000);
        bench.tidy();
        assert_eq!(bench.rows(&id).is_empty(), at >= 16, "after {} s", 10 * (at + 1));
    }
}

#[test]
fn a_corrected_clock_is_not_called_far_ahead() {
    let bench = Bench::new();
    let ahead = |ms: i64| {
        bench.clock.advance_ms(ms);
        bench.numbers(&bench.table(DataType::Int64), 0..1);
        bench.clock.advance_ms(-ms);
        bench.store.maintain(&Control::default()).unwrap().time_ahead.is_some()
    };
    assert!(!ahead(60_000));
    assert!(ahead(60_001));
}
