//! The filter corpus and the rules of paging, executed by the real services on real stores.

mod coverage;
mod kinds;
mod orders;
mod paging;
mod probe;
mod projections;
#[cfg(feature = "search")]
mod search;
mod walks;

use crate::store::tests::prelude::*;

use crate::disk::Disk as _;
use crate::filter::tests::corpus::{Case, File, Told, files, told};
use crate::session::Access as _;
use kinds::{CorpusKind, Raw, filtering, kind};

/// A store in memory whose time is that of the corpus.
struct Opened {
    disk: Arc<MemoryDisk>,
    store: Store,
    session: Session,
}

impl Opened {
    fn new() -> Self {
        Self::with_seed(1)
    }

    fn with_seed(seed: u64) -> Self {
        Self::on(Arc::new(MemoryDisk::new()), seed)
    }

    fn on(disk: Arc<MemoryDisk>, seed: u64) -> Self {
        let clock = ManualClock::new(time::parse("2024-05-15T12:00:00Z").unwrap());
        let options = StoreOptions::default()
            .seed(Some(seed))
            .vendor_prefix("Acme".to_owned())
            .maintenance_thread(false);
        let (store, session) = opened(options.shared_clock(Arc::new(clock)), disk.clone());
        Self { disk, store, session }
    }

    /// Closes the store, calls `between` with its disk, and opens it again.
    fn reopen(self, between: impl FnOnce(&MemoryDisk)) -> Self {
        let Self { disk, store, session } = self;
        drop(session);
        store.close().unwrap();
        between(&disk);
        Self::on(disk, 1)
    }

    fn put(&self, kind: &CorpusKind, records: &[Value]) {
        let put = kind.put;
        let records = records.to_vec();
        self.session
            .write(move |draft| records.iter().try_for_each(|record| put(draft, record)))
            .unwrap();
    }
}

/// One file of the corpus, executed on a store.
struct Run<'f> {
    name: &'f str,
    file: &'f File,
    kind: &'static CorpusKind,
    /// Numbers of the records, from 1, by id.
    numbers: BTreeMap<String, usize>,
    faults: Vec<String>,
    /// How often each access path was chosen.
    ways: BTreeMap<&'static str, usize>,
}

impl<'f> Run<'f> {
    fn new(name: &'f str, file: &'f File, opened: &Opened) -> Self {
        let records: Vec<Value> =
            file.records.iter().map(|record| serde_json::from_str(record).unwrap()).collect();
        let kind = kind(&file.kind);
        opened.put(kind, &records);
        let ids = records.iter().map(|record| record["id"].as_str().unwrap().to_owned());
        let numbers = ids.enumerate().map(|(at, id)| (id, at + 1)).collect();
        Self { name, file, kind, numbers, faults: Vec::new(), ways: BTreeMap::new() }
    }

    fn numbers_of(&self, ids: &[String]) -> Vec<usize> {
        let mut numbers: Vec<usize> = ids.iter().map(|id| self.numbers[id]).collect();
        numbers.sort_unstable();
        numbers
    }

    fn check(&mut self, case: &Case, how: &str, answer: Result<Vec<String>>) {
        let answer: std::result::Result<Vec<usize>, Told> =
            answer.map(|ids| self.numbers_of(&ids)).map_err(|error| told(&error));
        if !case.is_right(&answer) {
            self.faults.push(format!(
                "{} {how}: {} {:?}\n    gave {answer:?}, expected {}",
                self.name,
                case.filter,
                case.substitutions,
                case.expected()
            ));
        }
    }

    /// Executes the cases through the service, if the kind has one and the request has the members
    /// that the case needs.
    fn through_the_service(&mut self, opened: &Opened, how: &str) {
        let Some(operation) = filtering(self.kind.name) else { return };
        let file = self.file;
        for case in &file.case {
            if case.substitutions.is_some() && !operation.takes_substitutions {
                self.faults.push(format!(
                    "{}: {} cannot be asked: no substitutions",
                    self.name, case.filter
                ));
                continue;
            }
            let mut request = json!({ operation.filter.unwrap(): case.filter });
            if case.substitutions.is_some() {
                request["substitutions"] = case.values().into();
            }
            if let Some(reference) = &case.reference {
                request["referenceTime"] = reference.as_str().into();
            }
            let answer = operation.ask(&opened.session, request);
            self.check(case, how, answer.map(|answer| operation.ids_of(&answer)));
        }
    }

    /// Queries the records without a service. Also compares the count of a query that only counts.
    fn raw(&mut self, opened: &Opened, case: &Case, filter: &str) -> Result<Vec<String>> {
        let takes_substitutions =
            filtering(self.kind.name).is_none_or(|operation| operation.takes_substitutions);
        let values = case.values();
        let query = Query {
            filter: Some(filter),
            substitutions: &values,
            no_substitutions: !takes_substitutions,
            bracket_lists: matches!(self.kind.name, "asset" | "utilization"),
            take: 100,
            reference_time: case.reference.as_deref().map(|text| {
                let (time, offset) = time::parse_with_offset(text).unwrap();
                time.with_timezone(&offset)
            }),
            renames: vec![("IsAcmeAsset".to_owned(), "isVendorAsset")]
                .into_iter()
                .filter(|_| self.kind.name == "asset")
                .collect(),
            requires: if self.kind.name == "table" { &[("columns", "testResultId")] } else { &[] },
            ..Query::default()
        };
        let Raw { ids, plan, .. } = (self.kind.raw)(&opened.session, &query)?;
        let counting = Query { take: 0, return_count: true, ..query };
        let Raw { count, plan: counted, .. } = (self.kind.raw)(&opened.session, &counting)?;
        if count != Some(ids.len() as u64) {
            self.faults.push(format!(
                "{}: {filter} finds {}, counted are {count:?}: {counted}",
                self.name,
                ids.len()
            ));
        }
        let way = match plan.access.as_str() {
            access if access.starts_with("all records") => "scan",
            access if access.starts_with("index") => "index",
            access if access.ends_with(" ids") => "ids",
            "nothing" => "nothing",
            _ => "other",
        };
        *self.ways.entry(way).or_default() += 1;
        Ok(ids)
    }

    /// Executes every case by its plan and as a full scan.
    fn by_each_path(&mut self, opened: &Opened) {
        let file = self.file;
        for case in &file.case {
            let answer = self.raw(opened, case, &case.filter);
            let is_ok = answer.is_ok();
            self.check(case, "by its plan", answer);
            if is_ok && !case.filter.trim().is_empty() {
                let scans = self.ways.get("scan").copied();
                let answer = self.raw(opened, case, &format!("({}) ? true : false", case.filter));
                self.check(case, "by full scan", answer);
                assert!(
                    self.ways.get("scan").copied() > scans,
                    "{} was not a full scan",
                    case.filter
                );
            }
        }
    }

    /// Executes every case combined with a search for a word of the first or second record, in one
    /// of three ways in turn.
    fn with_search(&mut self, opened: &Opened, how: &str) {
        if !self.has_index() {
            return;
        }
        let file = self.file;
        for (at, case) in file.case.iter().enumerate() {
            let Some(expected) = case.expect.as_ref().filter(|_| !case.filter.trim().is_empty())
            else {
                continue;
            };
            let (text, found) = if at % 2 == 0 { ("one", 1) } else { ("two", 2) };
            let others = expected.iter().copied().filter(|number| *number != found);
            let (filter, expected) = match at % 3 {
                0 => {
                    let both = expected.iter().copied().filter(|number| *number == found).collect();
                    (format!("search(\"{text}\") and ({})", case.filter), both)
                }
                1 => {
                    let mut either: Vec<usize> = others.chain([found]).collect();
                    either.sort_unstable();
                    (format!("({}) or search(\"{text}\")", case.filter), either)
                }
                _ => (format!("({}) and not search(\"{text}\")", case.filter), others.collect()),
            };
            let answer = self.raw(opened, case, &filter).map(|ids| self.numbers_of(&ids));
            if !answer.as_ref().is_ok_and(|found| *found == expected) {
                self.faults.push(format!(
                    "{} {how}: {filter} gave {answer:?}, not {expected:?}",
                    self.name
                ));
            }
        }
    }

    /// Whether the text index contains its records.
    fn has_index(&self) -> bool {
        self.kind.has_text && cfg!(feature = "search")
    }
}

#[test]
fn every_case_finds_the_same_on_every_path() {
    let (mut cases, mut faults, mut ways) = (0, Vec::new(), BTreeMap::<&str, usize>::new());
    for (name, file) in files() {
        let opened = Opened::new();
        let mut run = Run::new(&name, &file, &opened);
        cases += file.case.len();
        run.through_the_service(&opened, "through the service");
        run.by_each_path(&opened);
        run.with_search(&opened, "with a search");
        let opened = opened.reopen(|_| {});
        run.through_the_service(&opened, "after reopening");
        let has_index = run.has_index();
        let opened = opened.reopen(|disk| {
            assert_eq!(disk.exists("search").unwrap(), has_index, "{name}");
            if has_index {
                disk.remove_dir_all("search").unwrap();
            }
        });
        run.through_the_service(&opened, "after a rebuild");
        run.with_search(&opened, "with a search after a rebuild");
        faults.append(&mut run.faults);
        for (way, count) in run.ways {
            *ways.entry(way).or_default() += count;
        }
    }
    let shown: Vec<&str> = faults.iter().take(60).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} faults over {cases} cases:\n{}", faults.len(), shown.join("\n"));
    assert!(cases >= 1700, "{cases} cases");
    assert!(["scan", "index", "ids"].iter().all(|way| ways.get(way) > Some(&500)), "{ways:?}");
    assert_eq!(ways.get("other"), None);
}
