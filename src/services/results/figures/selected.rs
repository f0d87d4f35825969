//! The results that a figure is about, from the index of units: no record is read unless a filter
//! needs it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::classes::Classes;
use super::passes::Passes;
use super::units::UnitKey;
use crate::error::{Error, Result};
use crate::filter::check_substitutions;
use crate::model::results::StatusType;
use crate::model::results::figure_requests::ResultSelection;
use crate::model::results::figures::{FigureClass, SeriesPass};
use crate::model::steps::remains::RemainingSteps;
use crate::model::{Resource, TestResult};
use crate::services::results::product_filter::product_filter;
use crate::session::{Query, View, Visibility};
use crate::value::{Control, RecordKey, key};

/// Entries between two checks of the control.
const BETWEEN_CHECKS: usize = 4096;

/// A result as the index of units tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitEntry<'e> {
    pub key: RecordKey,
    pub unit: UnitKey<'e>,
    pub started_at_ms: i64,
    pub status_type: StatusType,
    pub status_name: Option<&'e str>,
    pub workspace: &'e str,
    pub is_selected: bool,
}

/// The bytes of the id of a result.
pub(super) fn id_of(result: RecordKey) -> [u8; 16] {
    result.as_bytes().try_into().unwrap_or_default()
}

/// The encoded text or null at the start of `entry`, and what follows it.
fn split_text(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    entry.split_at_checked(key::encoded_len(entry)?)
}

fn decoded(own: &[u8]) -> Option<Option<String>> {
    if own == [0] { Some(None) } else { Some(Some(key::split_str(own)?.0)) }
}

/// A text of an entry, which is decoded only where it changes.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    text: Option<String>,
}

impl Text {
    /// Reads the text at the start of `entry`; returns what follows it.
    fn read<'b>(&mut self, entry: &'b [u8]) -> Option<&'b [u8]> {
        // The encoding tells where it ends, so no other text starts with the same bytes.
        if !self.bytes.is_empty()
            && let Some(rest) = entry.strip_prefix(self.bytes.as_slice())
        {
            return Some(rest);
        }
        let (own, rest) = split_text(entry)?;
        self.text = decoded(own)?;
        self.bytes.clear();
        self.bytes.extend_from_slice(own);
        Some(rest)
    }
}

/// The included values of the entry before: the status.
#[derive(Debug, Default)]
struct Status {
    bytes: Vec<u8>,
    status_type: StatusType,
    status_name: Option<String>,
}

impl Status {
    fn read(&mut self, included: &[u8]) -> Option<StatusType> {
        if self.bytes.is_empty() || self.bytes != included {
            let (status_type, rest) = split_text(included)?;
            self.status_type = decoded(status_type)??.parse().ok()?;
            self.status_name = decoded(split_text(rest)?.0)?;
            self.bytes.clear();
            self.bytes.extend_from_slice(included);
        }
        Some(self.status_type)
    }
}

/// The workspace of the entry before, and whether the caller sees it.
#[derive(Debug)]
struct SeenWorkspace {
    visibility: Visibility,
    name: String,
    is_allowed: bool,
}

impl SeenWorkspace {
    fn new(visibility: Visibility) -> Self {
        let is_allowed = visibility.allows("");
        Self { visibility, name: String::new(), is_allowed }
    }

    /// Whether the caller sees this workspace.
    fn allows(&mut self, workspace: &[u8]) -> Result<bool> {
        if self.name.as_bytes() != workspace {
            let name = std::str::from_utf8(workspace).map_err(|_| damaged())?;
            name.clone_into(&mut self.name);
            self.is_allowed = self.visibility.allows(name);
        }
        Ok(self.is_allowed)
    }
}

/// The texts of the entry before.
#[derive(Debug, Default)]
struct Texts {
    part_number: Text,
    program_name: Text,
    status: Status,
}

impl Texts {
    /// Reads the key of an entry; returns the bytes of the serial number, and the start.
    fn read_key<'e>(&mut self, entry: &'e [u8]) -> Option<(Option<&'e [u8]>, i64)> {
        let rest = self.part_number.read(entry)?;
        let (serial_number, rest) = split_text(rest)?;
        let rest = self.program_name.read(rest)?;
        let serial_number = match serial_number {
            [0] => None,
            [4, text @ .., 0, 0] => Some(text),
            _ => return None,
        };
        Some((serial_number, key::split_i64(rest)?.0))
    }
}

fn damaged() -> Error {
    Error::corrupt("records.redb: an entry of an index of results is damaged; verify the store")
}

/// Refuses results whose keys take too much memory.
///
/// # Errors
/// `LimitExceeded`.
pub(super) fn check_memory(view: &View<'_>, bytes: usize, what: &str) -> Result<()> {
    let most = view.context().settings().query_memory_bytes;
    if bytes > most {
        return Err(Error::limit(format!(
            "{what} take more than the {most} bytes that `query_memory_bytes` allows one query; \
             narrow the filter"
        )));
    }
    Ok(())
}

/// Checks the keys of so many results.
fn check_count(view: &View<'_>, count: usize) -> Result<()> {
    check_memory(view, count.saturating_mul(2 * size_of::<RecordKey>()), "the ids of the results")
}

/// The results that the filters of a selection match; `None` for a selection without filters.
fn matching(
    view: &View<'_>,
    selection: &ResultSelection<'_>,
) -> Result<Option<HashSet<RecordKey>>> {
    let substitutions = selection.substitutions.unwrap_or_default();
    check_substitutions(substitutions).map_err(|error| error.at_member("substitutions"))?;
    let filter = selection.filter.filter(|filter| !filter.trim().is_empty());
    let products = product_filter(selection.product_filter, selection.product_substitutions)?;
    if filter.is_none() && products.is_none() {
        return Ok(None);
    }
    let query = Query { filter, substitutions, products, ..Query::default() };
    let mut found = HashSet::new();
    view.for_each_match::<TestResult>(&query, |result| found.extend(result.key()))?;
    check_count(view, found.len())?;
    Ok(Some(found))
}

/// Calls `f` with all visible results in order of part number, serial number, program name, start
/// and id.
///
/// # Errors
/// Those of `f`; `InvalidArgument` for a faulty filter; `LimitExceeded` for too many matches;
/// `DeadlineExceeded` and `Cancelled`.
pub(super) fn each_result(
    view: &View<'_>,
    selection: &ResultSelection<'_>,
    control: &Control,
    f: &mut dyn FnMut(&UnitEntry<'_>) -> Result<()>,
) -> Result<()> {
    let control = view.context().control(control);
    let selected = matching(view, selection)?;
    let mut seen = SeenWorkspace::new(view.visibility(TestResult::KIND));
    let mut texts = Texts::default();
    let mut count = 0_usize;
    view.index_pass(
        TestResult::KIND,
        TestResult::BY_UNIT,
        &[],
        |entry, key, included, workspace| {
            count += 1;
            if count.is_multiple_of(BETWEEN_CHECKS) {
                control.check()?;
            }
            if !seen.allows(workspace)? {
                return Ok(true);
            }
            let (serial_number, started_at_ms) = texts.read_key(entry).ok_or_else(damaged)?;
            // A name that is too long for the index is in the record.
            let status = match included {
                Some(_) => None,
                None => view.any_by_key::<TestResult>(key)?.and_then(|result| result.status),
            };
            let status_type = match (included, &status) {
                (Some(included), _) => texts.status.read(included),
                (None, status) => status.as_ref().map(|status| status.status_type),
            };
            let own_name = status.as_ref().and_then(|status| status.status_name.as_deref());
            let unit = UnitKey {
                part_number: texts.part_number.text.as_deref(),
                serial_number,
                program_name: texts.program_name.text.as_deref().unwrap_or_default(),
            };
            f(&UnitEntry {
                key,
                unit,
                started_at_ms,
                status_type: status_type.ok_or_else(damaged)?,
                status_name: included.map_or(own_name, |_| texts.status.status_name.as_deref()),
                workspace: &seen.name,
                is_selected: selected.as_ref().is_none_or(|selected| selected.contains(&key)),
            })?;
            Ok(true)
        },
    )
}

/// Calls `f` with the key and the start of each selected result, in order of the starts. The index
/// of starts has shorter entries than that of units.
///
/// # Errors
/// As [`each_result`].
fn each_start(
    view: &View<'_>,
    selection: &ResultSelection<'_>,
    control: &Control,
    f: &mut dyn FnMut(RecordKey, i64) -> Result<()>,
) -> Result<()> {
    let control = view.context().control(control);
    let selected = matching(view, selection)?;
    let mut seen = SeenWorkspace::new(view.visibility(TestResult::KIND));
    let mut count = 0_usize;
    view.index_pass(TestResult::KIND, TestResult::BY_STARTED_AT, &[], |entry, key, _, workspace| {
        count += 1;
        if count.is_multiple_of(BETWEEN_CHECKS) {
            control.check()?;
        }
        let is_selected = selected.as_ref().is_none_or(|selected| selected.contains(&key));
        if is_selected && seen.allows(workspace)? {
            let (started_at_ms, _) = key::split_i64(entry).ok_or_else(damaged)?;
            f(key, started_at_ms)?;
        }
        Ok(true)
    })
}

/// The selected results, as failures see them.
#[derive(Debug, Default)]
pub(super) struct SelectedResults {
    pub(super) bad: BTreeSet<RecordKey>,
    pub(super) good: i64,
    /// Those that are not counted, by status type.
    pub(super) not_counted: BTreeMap<String, i64>,
    /// The bad ones that are left out, because they are not the first ones of their units.
    pub(super) not_first: i64,
}

/// Whether all results are selected, and the caller sees all of them.
///
/// # Errors
/// `InvalidArgument` for faulty substitutions.
fn selects_all(view: &View<'_>, selection: &ResultSelection<'_>) -> Result<bool> {
    let is_blank = |filter: Option<&str>| filter.is_none_or(|text| text.trim().is_empty());
    let has_none = is_blank(selection.filter) && is_blank(selection.product_filter);
    let sees_all = matches!(view.visibility(TestResult::KIND), Visibility::All);
    Ok(has_none && sees_all && matching(view, selection)?.is_none())
}

/// The bad ones of all results. Entries of the index of statuses that are not bad are only counted.
fn all_bad_results(
    view: &View<'_>,
    classes: &Classes,
    control: &Control,
) -> Result<SelectedResults> {
    let control = view.context().control(control);
    let (kind, index) = (TestResult::KIND, TestResult::BY_STATUS);
    let mut bad = Vec::new();
    let mut found = SelectedResults::default();
    for status_type in StatusType::ALL {
        control.check()?;
        let prefix = key::of_str(status_type.as_str());
        let class = classes.of(*status_type, None);
        if class == FigureClass::Bad {
            view.index_pass(kind, index, &prefix, |_, key, _, _| {
                bad.push(key);
                if bad.len().is_multiple_of(BETWEEN_CHECKS) {
                    control.check()?;
                    check_count(view, bad.len())?;
                }
                Ok(true)
            })?;
            continue;
        }
        let count = view.count_with_prefix(kind, index, &prefix)?.cast_signed();
        match class {
            FigureClass::Good => found.good += count,
            _ if count > 0 => {
                found.not_counted.insert(status_type.as_str().to_owned(), count);
            }
            _ => {}
        }
    }
    check_count(view, bad.len())?;
    found.bad = bad.into_iter().collect();
    Ok(found)
}

/// The selected bad results, and how many others there are; with `first_pass_only` those that are
/// the first ones of their units.
///
/// # Errors
/// As [`each_result`].
pub(super) fn bad_results(
    view: &View<'_>,
    selection: &ResultSelection<'_>,
    classes: &Classes,
    first_pass_only: bool,
    control: &Control,
) -> Result<SelectedResults> {
    if !first_pass_only && !classes.read_names() && selects_all(view, selection)? {
        return all_bad_results(view, classes, control);
    }
    let mut passes = Passes::new(SeriesPass::First, selection.retest_scope);
    let mut bad = Vec::new();
    let mut found = SelectedResults::default();
    each_result(view, selection, control, &mut |entry| {
        let class = classes.of(entry.status_type, entry.status_name);
        if first_pass_only {
            let is_counted = class != FigureClass::Ignore;
            passes.add(entry.unit, id_of(entry.key), is_counted, entry.is_selected);
        }
        match class {
            _ if !entry.is_selected => {}
            FigureClass::Good => found.good += 1,
            FigureClass::Bad => {
                bad.push(entry.key);
                check_count(view, bad.len())?;
            }
            FigureClass::Ignore => {
                let status_type = entry.status_type.as_str();
                match found.not_counted.get_mut(status_type) {
                    Some(count) => *count += 1,
                    None => drop(found.not_counted.insert(status_type.to_owned(), 1)),
                }
            }
        }
        Ok(())
    })?;
    if first_pass_only {
        let (firsts, all) = (passes.finish(), bad.len());
        bad.retain(|key| firsts.contains(&id_of(*key)));
        found.not_first = (all - bad.len()).cast_signed() as i64;
    }
    // The results of units come in another order; sorted ones make the set at once.
    found.bad = bad.into_iter().collect();
    Ok(found)
}

/// Results with their starts, which are asked for mostly in order of their keys.
#[derive(Debug)]
pub(super) struct Starts {
    /// By key.
    starts: Vec<(RecordKey, i64)>,
    at: usize,
}

/// The results whose values are in a series.
#[derive(Debug)]
pub(super) enum Participants {
    /// Those of all steps. Nobody asks for their starts.
    All,
    Of(Starts),
}

impl Starts {
    /// The results that take part in a series.
    ///
    /// # Errors
    /// As [`each_result`].
    fn of(
        view: &View<'_>,
        selection: &ResultSelection<'_>,
        pass: SeriesPass,
        control: &Control,
    ) -> Result<Self> {
        let classes = Classes::of_request(selection)?;
        let mut starts: Vec<(RecordKey, i64)> = Vec::new();
        let mut add = |key, started_at_ms| {
            starts.push((key, started_at_ms));
            if !starts.len().is_multiple_of(BETWEEN_CHECKS) {
                return Ok(());
            }
            let bytes = starts.capacity() * size_of::<(RecordKey, i64)>();
            check_memory(view, bytes, "the starts of the results")
        };
        if pass == SeriesPass::All {
            each_start(view, selection, control, &mut add)?;
        } else {
            let mut passes = Passes::new(pass, selection.retest_scope);
            each_result(view, selection, control, &mut |entry| {
                let class = classes.of(entry.status_type, entry.status_name);
                let is_counted = class != FigureClass::Ignore;
                passes.add(entry.unit, id_of(entry.key), is_counted, entry.is_selected);
                if entry.is_selected { add(entry.key, entry.started_at_ms) } else { Ok(()) }
            })?;
            let taken = passes.finish();
            starts.retain(|(key, _)| taken.contains(&id_of(*key)));
        }
        starts.sort_unstable_by_key(|(key, _)| *key);
        Ok(Self { starts, at: 0 })
    }

    /// Bytes that they take.
    fn bytes(&self) -> usize {
        self.starts.capacity() * size_of::<(RecordKey, i64)>()
    }

    /// The start of a result; `None` if it takes no part.
    fn of_result(&mut self, result: RecordKey) -> Option<i64> {
        /// Results that are looked at before a search.
        const NEAR: usize = 4;
        for at in self.at..self.at.saturating_add(NEAR) {
            match self.starts.get(at) {
                Some((key, start)) if *key == result => {
                    self.at = at;
                    return Some(*start);
                }
                Some((key, _)) if *key < result => {}
                _ => break,
            }
        }
        let found = self.starts.binary_search_by_key(&result, |(key, _)| *key);
        self.at = found.unwrap_or_else(|next| next);
        found.ok().and_then(|at| self.starts.get(at)).map(|(_, start)| *start)
    }
}

impl Participants {
    /// The results that take part in a series.
    ///
    /// # Errors
    /// As [`each_result`].
    pub(super) fn ordered(
        view: &View<'_>,
        selection: &ResultSelection<'_>,
        pass: SeriesPass,
        control: &Control,
    ) -> Result<Self> {
        Starts::of(view, selection, pass, control).map(Self::Of)
    }

    /// The results that take part in a series whose order does not matter: none is read if all do.
    ///
    /// # Errors
    /// As [`each_result`].
    pub(super) fn unordered(
        view: &View<'_>,
        selection: &ResultSelection<'_>,
        pass: SeriesPass,
        control: &Control,
    ) -> Result<Self> {
        if pass == SeriesPass::All && selects_all(view, selection)? {
            Classes::of_request(selection)?;
            // Steps that outlived their result take no part.
            let mut outlived = false;
            view.for_each_of_anyone::<RemainingSteps>(|_| {
                outlived = true;
                Ok(false)
            })?;
            if !outlived {
                return Ok(Self::All);
            }
        }
        Self::ordered(view, selection, pass, control)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Of(starts) if starts.starts.is_empty())
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Of(starts) => starts.bytes(),
        }
    }

    /// The start of a result, or any time where all take part; `None` if it takes no part.
    pub(super) fn start_of(&mut self, result: RecordKey) -> Option<i64> {
        match self {
            Self::All => Some(0),
            Self::Of(starts) => starts.of_result(result),
        }
    }
}
