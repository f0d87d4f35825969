//! Files that need more than one commit.

use stationdb::prelude::*;
use stationdb::results::{QueryResultsRequest, QueryStepsRequest};
use stationdb::work_items::{QueryWorkItemsRequest, WorkItem};
use stationdb::{Control, ErrorKind, Identity, Session, Store};

use super::commit::Portions;
use super::import::import_in;
use super::{ImportOptions, ImportReport, remove_unfinished};

/// A commit for each two parts.
const SMALL: Portions = Portions { bytes: 1, parts: 2, steps: 1000 };

fn record(number: (u8, u8), body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..], &[number.0, number.1], body].concat()
}

/// A file with parts of one test each, of which the third one tests the first one again, and a name
/// of their bin at the end.
fn file(parts: u8) -> Vec<u8> {
    let mut file = b"\x02\x00\x00\x0a\x02\x04".to_vec();
    for part in 0..parts {
        file.extend(record((5, 10), &[1, 1]));
        file.extend(record((15, 10), &[7, 0, 0, 0, 1, 1, 0, 0, 0, 0, 128, 63]));
        let (flags, id) = if part == 2 { (1, b'a') } else { (0, b'a' + part) };
        let body = [1, 1, flags, 1, 0, 3, 0, 255, 255, 0, 128, 0, 128, 9, 0, 0, 0, 1, id];
        file.extend(record((5, 20), &body));
    }
    file.extend(record((1, 40), &[255, 1, 3, 0, parts, 0, 0, 0, b'P', 4, b'g', b'o', b'o', b'd']));
    file.extend(record((1, 20), &[0; 4]));
    file
}

struct Bench {
    session: Session,
    _directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("store")).unwrap();
        Self { session: store.session(Identity::user("ada")), _directory: directory }
    }

    fn import(&self, file: &[u8], portions: Portions) -> Result<ImportReport, stationdb::Error> {
        let (options, control) = (ImportOptions::new(), Control::default());
        import_in(&self.session, &mut &*file, &options, &control, portions)
    }

    fn work_items(&self) -> Vec<WorkItem> {
        self.session.query_work_items(QueryWorkItemsRequest::new()).unwrap().work_items
    }

    /// Results and steps.
    fn counts(&self) -> (usize, usize) {
        let results = self.session.query_results(QueryResultsRequest::new()).unwrap().results;
        let steps = self.session.query_steps(QueryStepsRequest::new()).unwrap().steps;
        (results.len(), steps.len())
    }
}

#[test]
fn a_large_file_is_several_commits_with_the_same_results() {
    let whole = Bench::new();
    let one = whole.import(&file(7), Portions::default()).unwrap();
    let bench = Bench::new();
    let several = bench.import(&file(7), SMALL).unwrap();
    // Three of two parts, the names of their bins, and the rest.
    assert_eq!((one.commits, several.commits > 3), (1, true));
    assert_eq!(one.warnings, [""; 0]);
    assert_eq!(several.warnings, [""; 0]);
    for (one, other) in one.results.iter().zip(&several.results) {
        let one = whole.session.get_result(one).unwrap();
        let other = bench.session.get_result(other).unwrap();
        assert_eq!(one.serial_number, other.serial_number);
        assert_eq!(one.status_type_summary, other.status_type_summary);
        let keys = |result: &stationdb::results::TestResult| {
            let properties = result.properties.clone().unwrap_or_default();
            let ids = ["workItemId", "retestOf"];
            let told = properties.iter().map(|(key, text)| {
                (key.clone(), text.clone().filter(|_| !ids.contains(&key.as_str())))
            });
            told.collect::<Vec<_>>()
        };
        assert_eq!(keys(&one), keys(&other));
        assert!(
            keys(&other)
                .iter()
                .any(|(key, text)| { key == "HBIN_NAM" && text.as_deref() == Some("good") })
        );
    }
    let again = bench.session.get_result(&several.results[2]).unwrap();
    let earlier = again.properties.unwrap()["retestOf"].clone();
    assert_eq!(earlier.as_deref(), Some(several.results[0].as_str()));
    assert_eq!(whole.counts(), bench.counts());
    let [item] = bench.work_items().try_into().unwrap();
    assert!(!item.properties.unwrap().contains_key("stdf.unfinished"));
    assert_eq!(remove_unfinished(&bench.session).unwrap(), 0);
    assert_eq!(bench.counts(), (7, 7));
}

#[test]
fn a_large_file_that_is_refused_leaves_nothing() {
    let bench = Bench::new();
    let mut damaged = file(6);
    let last = damaged.len() - 9;
    // The length of the name of the bin.
    assert_eq!(damaged[last - 4], 4);
    damaged[last - 4] = 99;
    let error = bench.import(&damaged, SMALL).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.message().contains("HBIN_NAM"), "{error}");
    assert_eq!((bench.counts(), bench.work_items().len()), ((0, 0), 0));
    // Nor does one that was imported before, beside that one.
    bench.import(&file(6), SMALL).unwrap();
    assert_eq!(bench.import(&file(6), SMALL).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!((bench.counts(), bench.work_items().len()), ((6, 6), 1));
}

/// As after a power cut: the import stops where nobody can delete what it committed.
#[test]
fn what_an_import_left_is_found_and_deleted() {
    let bench = Bench::new();
    bench.import(&file(1), SMALL).unwrap();
    let options = ImportOptions::new();
    let mut lot = super::lot::Lot::new(&options).unwrap();
    let control = Control::default();
    let mut sink = super::commit::Sink::new(&bench.session, &options, &control, SMALL);
    let other = file(5);
    let mut records = super::Records::new(&other[..]).unwrap();
    while let Some(record) = records.next_record().unwrap() {
        if let Some(part) = lot.take(&record).unwrap() {
            sink.take(part, &mut lot).unwrap();
        }
    }
    drop(sink);
    assert_eq!((bench.counts(), bench.work_items().len()), ((5, 5), 2));
    assert_eq!(remove_unfinished(&bench.session).unwrap(), 1);
    assert_eq!((bench.counts(), bench.work_items().len()), ((1, 1), 1));
}
