//! Carries out the retention of results.
//!
//! What must hold: a result goes only if the policy does not keep it in the state that its deletion
//! is drafted over; a table or a file goes only in the commit that deletes the last result that
//! names it; and each commit is short, so that other writers do not wait.
//!
//! A round looks at results in one read, and takes those to delete, up to [`ROUND`] of them.
//! Names of tables and files that any other record has are struck out. Records that change during a
//! round are found in the change log, and strike out their names, too.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Result};
use crate::model::results::{ResultRetention, ResultRetentionReport, StatusType};
use crate::model::{
    Asset, FileId, FileRecord, Product, Resource, TableMetadata, TestPlan, TestPlanTemplate,
    TestResult, WorkItem, WorkItemTemplate,
};
use crate::services::{content, lists, results::steps};
use crate::session::tables::forget_rows;
use crate::session::{Access, Draft, Session, View, Visibility, lock};
use crate::value::stored::Members;
use crate::value::{Action, Control, RecordKey, key, stored};

/// Results that one round takes.
const ROUND: usize = if cfg!(test) { 7 } else { 50_000 };
/// Results that one commit deletes.
const COMMIT: usize = if cfg!(test) { 3 } else { 100 };
/// Ids in a report.
const TOLD: usize = 1_000;
/// Bytes that are counted for a result of the newest ones of its product.
const NEWEST_BYTES: usize = 32;

/// Calls a macro with each kind of records that name files, beside results, and its member.
macro_rules! each_kind_with_files {
    ($call:ident) => {
        $call!(Product, file_ids);
        $call!(Asset, file_ids);
        $call!(WorkItem, file_ids_from_template);
        $call!(WorkItemTemplate, file_ids);
        $call!(TestPlan, file_ids_from_template);
        $call!(TestPlanTemplate, file_ids);
    };
}

/// What is asked for.
#[derive(Clone, Copy)]
struct Task<'t> {
    policy: &'t ResultRetention,
    dry_run: bool,
    deleter: Deleter,
    control: &'t Control,
    /// Called before each commit.
    before_commit: &'t dyn Fn(),
}

impl Task<'_> {
    /// Whether the deleter sees a record and may delete it.
    fn may_delete<R: Resource>(&self, view: &View<'_>, record: &R) -> bool {
        let allows =
            |action| view.context().visibility(R::KIND.service, action).allows(record.workspace());
        self.deleter == Deleter::Store || (allows(Action::Read) && allows(Action::Delete))
    }
}

/// Who deletes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deleter {
    /// The caller, who may delete what the policy lets them.
    Caller,
    /// The store itself.
    Store,
}

/// A result to delete.
#[derive(Clone, Debug)]
struct Candidate {
    key: RecordKey,
    /// The hash of its record.
    state: u64,
    steps: u64,
    tables: Vec<RecordKey>,
    files: Vec<String>,
}

/// What a round finds.
#[derive(Debug, Default)]
struct Round {
    candidates: Vec<Candidate>,
    kept: u64,
    refused: u64,
    /// How many candidates name a table that nothing else names, and a file.
    names: Names,
    /// The last commit that the round is known to have seen.
    looked: u64,
    /// The last result that it looked at.
    seen: Option<RecordKey>,
    /// Whether there may be more results to delete.
    has_more: bool,
}

/// How many results that are not deleted yet name a table or a file that nothing else names.
#[derive(Debug, Default)]
struct Names {
    tables: HashMap<RecordKey, usize>,
    files: HashMap<String, usize>,
}

impl Names {
    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.files.is_empty()
    }

    fn strike_of(&mut self, result: &TestResult) {
        for id in result.data_table_ids.iter().flatten() {
            if let Some(key) = table_key(id) {
                self.tables.remove(&key);
            }
        }
        self.strike_files(result.file_ids.as_ref());
    }

    fn strike_files(&mut self, ids: Option<&Vec<String>>) {
        for id in ids.into_iter().flatten() {
            self.files.remove(&file_id(id));
        }
    }
}

fn table_key(id: &str) -> Option<RecordKey> {
    RecordKey::parse(TableMetadata::KIND.id, id)
}

/// The id of a file as the store writes it.
fn file_id(id: &str) -> String {
    FileId::parse(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

/// The start of the last result that is among the newest of its product, by entry and product.
type Newest = HashMap<(usize, Option<String>), (i64, RecordKey)>;

/// The policy with what it depends on in one state.
struct Judge<'t> {
    task: Task<'t>,
    now: DateTime<Utc>,
    newest: Newest,
    deletable: Visibility,
}

/// The hash of a record: times do not tell two changes of one millisecond apart.
fn state_of(result: &TestResult) -> Result<u64> {
    Ok(xxh3_64(&stored::to_bytes(result)?))
}

fn order_of(result: &TestResult, key: RecordKey) -> (i64, RecordKey) {
    (result.started_at.map_or(i64::MIN, |at| at.timestamp_millis()), key)
}

impl<'t> Judge<'t> {
    fn new(view: &View<'_>, task: Task<'t>) -> Result<Self> {
        let Task { policy, deleter, .. } = task;
        let deletable = view.context().visibility(TestResult::KIND.service, Action::Delete);
        let mut judge = Self { task, now: view.now(), newest: HashMap::new(), deletable };
        if policy.keep.iter().all(|keep| keep.newest_of_product.is_none()) {
            return Ok(judge);
        }
        let mut heaps: HashMap<(usize, Option<String>), BinaryHeap<Reverse<(i64, RecordKey)>>> =
            HashMap::new();
        let (mut held, most) = (0, view.context().settings().query_memory_bytes / NEWEST_BYTES);
        for_each(view, deleter, None, &mut |key, result| {
            task.control.check()?;
            if !policy.is_about(&result) {
                return Ok(true);
            }
            let order = order_of(&result, key);
            for (at, keep) in policy.keep.iter().enumerate() {
                let Some(count) = keep.newest_of_product.filter(|_| keep.is_about(&result)) else {
                    continue;
                };
                let heap = heaps.entry((at, result.part_number.clone())).or_default();
                heap.push(Reverse(order));
                held += 1;
                if heap.len() as u64 > count {
                    heap.pop();
                    held -= 1;
                }
            }
            if held > most {
                return Err(Error::limit(
                    "the newest results of all products need more memory than query_memory_bytes; \
                     keep fewer of each product, or name products",
                )
                .at_member("keep"));
            }
            Ok(true)
        })?;
        let first = |heap: BinaryHeap<Reverse<_>>| heap.peek().map(|Reverse(first)| *first);
        judge.newest = heaps
            .into_iter()
            .filter_map(|(product, heap)| first(heap).map(|first| (product, first)))
            .collect();
        Ok(judge)
    }

    fn may_delete(&self, result: &TestResult) -> bool {
        self.task.deleter == Deleter::Store || self.deletable.allows(result.workspace())
    }

    fn keeps(&self, key: RecordKey, result: &TestResult) -> bool {
        let status = result.status.as_ref().map(|status| status.status_type);
        let is_going_on =
            matches!(status, Some(StatusType::Running | StatusType::Waiting | StatusType::Looping));
        is_going_on || {
            self.task.policy.keep.iter().enumerate().any(|(at, keep)| {
                keep.is_about(result)
                    && keep.is_recent(result.started_at, self.now)
                    && (keep.newest_of_product.is_none() || self.is_newest(at, key, result))
            })
        }
    }

    fn is_newest(&self, at: usize, key: RecordKey, result: &TestResult) -> bool {
        let first = self.newest.get(&(at, result.part_number.clone()));
        first.is_some_and(|first| order_of(result, key) >= *first)
    }
}

/// Calls `f` with the results after `after` that the deleter may see, in the order of their keys,
/// until it returns false.
fn for_each(
    view: &View<'_>,
    deleter: Deleter,
    after: Option<RecordKey>,
    f: &mut dyn FnMut(RecordKey, TestResult) -> Result<bool>,
) -> Result<()> {
    let visibility = view.visibility(TestResult::KIND);
    view.scan_records::<TestResult>(after, false, Members::ALL, &mut |key, result| {
        let is_seen = deleter == Deleter::Store || visibility.allows(result.workspace());
        Ok(!is_seen || f(key, result)?)
    })
}

/// Looks at the results after `after`, and takes those to delete.
fn look(access: &impl Access, task: Task<'_>, after: Option<RecordKey>) -> Result<Round> {
    // Before the read begins: a commit between the two is looked at twice, and none is missed.
    let looked = access.context().snapshot().sequence;
    access.read(|view| {
        let judge = Judge::new(view, task)?;
        let mut round = Round { looked, seen: after, ..Round::default() };
        for_each(view, task.deleter, after, &mut |key, result| {
            task.control.check()?;
            if task.policy.is_about(&result) {
                if judge.keeps(key, &result) {
                    round.kept += 1;
                } else if !judge.may_delete(&result) {
                    round.refused += 1;
                } else if round.candidates.len() < ROUND {
                    round.candidates.push(candidate(view, task.policy, key, &result)?);
                } else {
                    round.has_more = true;
                    return Ok(false);
                }
            }
            round.seen = Some(key);
            Ok(true)
        })?;
        for candidate in &round.candidates {
            for table in &candidate.tables {
                *round.names.tables.entry(*table).or_default() += 1;
            }
            for file in &candidate.files {
                *round.names.files.entry(file.clone()).or_default() += 1;
            }
        }
        if !round.names.is_empty() {
            strike(view, &judge, &mut round, after)?;
        }
        Ok(round)
    })
}

fn candidate(
    view: &View<'_>,
    policy: &ResultRetention,
    key: RecordKey,
    result: &TestResult,
) -> Result<Candidate> {
    let (mut tables, mut files) = (HashSet::new(), HashSet::new());
    if policy.keep_tables != Some(true) {
        tables.extend(result.data_table_ids.iter().flatten().filter_map(|id| table_key(id)));
        let entry = key::of_str(result.id());
        tables.extend(view.index_keys::<TableMetadata>(TableMetadata::BY_TEST_RESULT_ID, &entry)?);
    }
    if policy.keep_files != Some(true) {
        files.extend(result.file_ids.iter().flatten().map(|id| file_id(id)));
    }
    Ok(Candidate {
        key,
        state: state_of(result)?,
        steps: result.steps_created,
        tables: tables.into_iter().collect(),
        files: files.into_iter().collect(),
    })
}

/// Strikes out the names that others have too: results that stay, results of later rounds, and
/// records of other kinds. A dry run counts the results of earlier rounds as deleted.
fn strike(
    view: &View<'_>,
    judge: &Judge<'_>,
    round: &mut Round,
    after: Option<RecordKey>,
) -> Result<()> {
    let own: HashSet<RecordKey> = round.candidates.iter().map(|candidate| candidate.key).collect();
    let task = judge.task;
    let names = &mut round.names;
    // Of results that the caller may not see, too.
    for_each(view, Deleter::Store, None, &mut |key, result| {
        task.control.check()?;
        let is_deleted = task.dry_run
            && after.is_some_and(|after| key <= after)
            && task.policy.is_about(&result)
            && !judge.keeps(key, &result)
            && judge.may_delete(&result);
        if !own.contains(&key) && !is_deleted {
            names.strike_of(&result);
        }
        Ok(!names.is_empty())
    })?;
    // A table is that of its test result, whoever names it.
    let mut going = HashMap::new();
    for (key, count) in names.tables.drain() {
        let Some(table) = view.any_by_key::<TableMetadata>(key)? else { continue };
        let of = table.test_result_id.as_deref();
        let of = of.and_then(|id| RecordKey::parse(TestResult::KIND.id, id));
        let of_other = match of.filter(|of| !own.contains(of)) {
            Some(of) => view.any_by_key::<TestResult>(of)?.is_some(),
            None => false,
        };
        if !of_other && task.may_delete(view, &table) {
            going.insert(key, count);
        }
    }
    names.tables = going;
    macro_rules! strike_all {
        ($kind:ty, $member:ident) => {
            view.for_each_of_anyone::<$kind>(|record| {
                task.control.check()?;
                names.strike_files(record.$member.as_ref());
                Ok(!names.files.is_empty())
            })?;
        };
    }
    if !names.files.is_empty() {
        each_kind_with_files!(strike_all);
        let mut going = HashMap::new();
        for (id, count) in names.files.drain() {
            let Some(key) = RecordKey::parse(FileRecord::KIND.id, &id) else { continue };
            let file = view.any_by_key::<FileRecord>(key)?;
            if file.is_some_and(|file| task.may_delete(view, &file)) {
                going.insert(id, count);
            }
        }
        names.files = going;
    }
    Ok(())
}

/// What the commits of a round share.
#[derive(Debug, Default)]
struct Shared {
    names: Names,
    /// Records that changed up to this commit have been looked at.
    looked: u64,
    /// The candidates of the round, with the hashes of their records.
    own: HashMap<RecordKey, u64>,
}

/// [`apply`] for a caller, to the end.
pub(super) fn apply_for_caller(
    access: &impl Access,
    policy: &ResultRetention,
    dry_run: bool,
    control: &Control,
) -> Result<ResultRetentionReport> {
    let deleter = Deleter::Caller;
    let task = Task { policy, dry_run, deleter, control, before_commit: &|| {} };
    Ok(apply(access, task, usize::MAX)?.0)
}

/// Deletes what the policy does not keep, or only tells it. Stops after `most` rounds; returns
/// whether there may be more.
fn apply(
    access: &impl Access,
    task: Task<'_>,
    most: usize,
) -> Result<(ResultRetentionReport, bool)> {
    let Task { policy, dry_run, .. } = task;
    policy.check()?;
    check_lists(policy)?;
    let mut report = ResultRetentionReport { dry_run, ..ResultRetentionReport::default() };
    let mut after = None;
    for _ in 0..most {
        let round = look(access, task, after)?;
        let has_more = round.has_more;
        after = round.seen;
        report.kept += round.kept;
        report.refused += round.refused;
        if dry_run {
            report.tables += round.names.tables.len() as u64;
            report.files += round.names.files.len() as u64;
            for candidate in &round.candidates {
                told(&mut report, candidate);
            }
        } else {
            delete(access, task, round, &mut report)?;
        }
        if !has_more {
            return Ok((report, false));
        }
    }
    Ok((report, true))
}

fn check_lists(policy: &ResultRetention) -> Result<()> {
    let check = |member: &str, len: Option<usize>| lists::check(member, len.unwrap_or_default());
    check("keep", Some(policy.keep.len()))?;
    check("partNumbers", policy.part_numbers.as_ref().map(Vec::len))?;
    for (at, keep) in policy.keep.iter().enumerate() {
        let place = |member: &str| format!("keep[{at}].{member}");
        check(&place("statuses"), keep.statuses.as_ref().map(Vec::len))?;
        check(&place("partNumbers"), keep.part_numbers.as_ref().map(Vec::len))?;
    }
    Ok(())
}

/// Counts a deleted result.
fn told(report: &mut ResultRetentionReport, candidate: &Candidate) {
    report.results += 1;
    report.steps += candidate.steps;
    if report.ids.len() < TOLD {
        report.ids.push(candidate.key.into());
    }
}

/// Deletes the results of a round, in short commits.
fn delete(
    access: &impl Access,
    task: Task<'_>,
    round: Round,
    report: &mut ResultRetentionReport,
) -> Result<()> {
    let Round { candidates, names, looked, .. } = round;
    let own = candidates.iter().map(|candidate| (candidate.key, candidate.state)).collect();
    let shared = Arc::new(Mutex::new(Shared { names, looked, own }));
    let deleter = task.deleter;
    for some in candidates.chunks(COMMIT) {
        task.control.check()?;
        (task.before_commit)();
        let (some, shared) = (some.to_vec(), shared.clone());
        let deleted =
            access.write(move |draft| delete_some(draft, some, deleter, &mut lock(&shared)))?;
        report.tables += deleted.tables;
        report.files += deleted.files;
        for candidate in &deleted.results {
            told(report, candidate);
        }
    }
    Ok(())
}

/// What one commit deletes.
#[derive(Debug, Default)]
struct Deleted {
    results: Vec<Candidate>,
    tables: u64,
    files: u64,
}

fn delete_some(
    draft: &mut Draft<'_>,
    candidates: Vec<Candidate>,
    deleter: Deleter,
    shared: &mut Shared,
) -> Result<Deleted> {
    strike_changed(draft, shared)?;
    let mut deleted = Deleted::default();
    let mut gone = steps::DeletedSteps::default();
    for candidate in candidates {
        let Some(result) = draft.any_by_key::<TestResult>(candidate.key)? else {
            // Another caller deleted it, and it names nothing any more.
            free(draft, &candidate, deleter, shared, &mut deleted)?;
            continue;
        };
        let is_changed = state_of(&result)? != candidate.state;
        let is_gone = !is_changed
            && match deleter {
                Deleter::Store => draft.delete_by_store::<TestResult>(candidate.key)?.is_some(),
                Deleter::Caller => {
                    draft.delete::<TestResult>(result.id()).is_ok_and(|old| old.is_some())
                }
            };
        if !is_gone {
            // It stays as another caller made it, and so does what it names.
            shared.names.strike_of(&result);
            for table in &candidate.tables {
                shared.names.tables.remove(table);
            }
            continue;
        }
        gone.add(draft, &result)?;
        free(draft, &candidate, deleter, shared, &mut deleted)?;
        deleted.results.push(candidate);
    }
    gone.save(draft)?;
    Ok(deleted)
}

/// Strikes out the names of records that were created or changed since the round looked, and the
/// tables that were.
fn strike_changed(draft: &Draft<'_>, shared: &mut Shared) -> Result<()> {
    if shared.names.is_empty() {
        return Ok(());
    }
    let mut changed = HashSet::new();
    let read = draft.view().log_after(shared.looked, |sequence, entry| {
        shared.looked = sequence;
        changed.extend(entry.events.into_iter().map(|event| (event.kind_code, event.id)));
        Ok(true)
    });
    match read {
        // Whoever names them now is not known, so they stay.
        Err(error) if error.kind() == ErrorKind::Conflict => shared.names = Names::default(),
        read => read?,
    }
    for (code, id) in changed {
        strike_record(draft, code, &id, shared)?;
    }
    Ok(())
}

/// Strikes out what a record names that was created or changed since the round looked.
fn strike_record(draft: &Draft<'_>, code: u8, id: &str, shared: &mut Shared) -> Result<()> {
    let Shared { names, own, .. } = shared;
    macro_rules! strike_one {
        ($kind:ty, $member:ident) => {
            if code == <$kind>::KIND.code
                && let Some(record) = changed_record::<$kind>(draft, id)?
            {
                names.strike_files(record.$member.as_ref());
            }
        };
    }
    each_kind_with_files!(strike_one);
    if code == TableMetadata::KIND.code
        && let Some(key) = table_key(id)
    {
        names.tables.remove(&key);
    }
    if code == TestResult::KIND.code
        && let Some(result) = changed_record::<TestResult>(draft, id)?
    {
        // A candidate that is as it was goes, and one that is not stays with what it names now.
        let known = result.key().and_then(|key| own.get(&key));
        if known.copied() != Some(state_of(&result)?) {
            names.strike_of(&result);
        }
    }
    Ok(())
}

fn changed_record<R: Resource>(draft: &Draft<'_>, id: &str) -> Result<Option<R>> {
    match RecordKey::parse(R::KIND.id, id) {
        Some(key) => draft.any_by_key::<R>(key),
        None => Ok(None),
    }
}

/// Drafts the deletion of the tables and files that only this result named by now.
fn free(
    draft: &mut Draft<'_>,
    candidate: &Candidate,
    deleter: Deleter,
    shared: &mut Shared,
    deleted: &mut Deleted,
) -> Result<()> {
    for key in &candidate.tables {
        if is_last(&mut shared.names.tables, key) && delete_table(draft, *key, deleter)? {
            deleted.tables += 1;
        }
    }
    for file in &candidate.files {
        if is_last(&mut shared.names.files, file) && delete_file(draft, file, deleter)? {
            deleted.files += 1;
        }
    }
    Ok(())
}

/// Counts a result as one that does not name it any more. Returns whether it was the last one.
fn is_last<K: std::hash::Hash + Eq>(names: &mut HashMap<K, usize>, name: &K) -> bool {
    let Some(count) = names.get_mut(name) else { return false };
    *count = count.saturating_sub(1);
    let is_last = *count == 0;
    if is_last {
        names.remove(name);
    }
    is_last
}

/// Deletes a record; one that the caller may not delete stays.
fn delete_record<R: Resource>(
    draft: &mut Draft<'_>,
    id: &str,
    deleter: Deleter,
) -> Result<Option<R>> {
    match (deleter, RecordKey::parse(R::KIND.id, id)) {
        (_, None) => Ok(None),
        (Deleter::Store, Some(key)) => draft.delete_by_store::<R>(key),
        (Deleter::Caller, Some(_)) => match draft.delete::<R>(id) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
            outcome => outcome,
        },
    }
}

fn delete_table(draft: &mut Draft<'_>, key: RecordKey, deleter: Deleter) -> Result<bool> {
    let id = key.to_id(TableMetadata::KIND.id);
    let table = delete_record::<TableMetadata>(draft, &id, deleter)?;
    match &table {
        Some(table) => forget_rows(draft, table.id()).map(|()| true),
        None => Ok(false),
    }
}

fn delete_file(draft: &mut Draft<'_>, id: &str, deleter: Deleter) -> Result<bool> {
    let file = delete_record::<FileRecord>(draft, id, deleter)?;
    if let Some(file) = &file {
        content::forget(draft, &file.content);
    }
    Ok(file.is_some())
}

/// Carries out the retention of the settings on behalf of the store: at most `most` rounds. Returns
/// the number of deleted results, and whether there may be more.
pub(crate) fn retain_results(
    session: &Session,
    most: usize,
    control: &Control,
) -> Result<(u64, bool)> {
    let Some(policy) = session.context().settings().result_retention.clone() else {
        return Ok((0, false));
    };
    let (policy, deleter) = (&policy, Deleter::Store);
    let task = Task { policy, dry_run: false, deleter, control, before_commit: &|| {} };
    let (report, has_more) = apply(session, task, most)?;
    Ok((report.results, has_more))
}

/// Carries out a policy, and calls `f` before each commit.
#[cfg(test)]
pub(crate) fn retain_results_with(
    session: &Session,
    policy: &ResultRetention,
    before_commit: &dyn Fn(),
) -> Result<ResultRetentionReport> {
    let (deleter, control) = (Deleter::Caller, &Control::default());
    let task = Task { policy, dry_run: false, deleter, control, before_commit };
    Ok(apply(session, task, 1)?.0)
}
