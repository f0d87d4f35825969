//! Turns conditions into ranges of index entries.

use std::ops::Bound;

use crate::filter::{Condition, Constant, FieldTest};
use crate::model::{Index, KindDecl, split_entry_value};
use crate::value::{FieldType, key};

/// Ranges of one index that contain exactly the records that satisfy certain conditions.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// Number of the index.
    pub(super) index: u8,
    /// Names of the indexed fields, for plans.
    pub(super) name: String,
    /// Ranges of entries, first (included) to second (excluded); ascending and disjoint.
    pub(super) spans: Vec<(Vec<u8>, Vec<u8>)>,
    /// Numbers of the conditions that the ranges answer.
    pub(super) answers: Vec<usize>,
    /// Whether each record has at most one entry in the ranges.
    pub(super) distinct: bool,
    /// Further conditions that can be tested on the values stored with the entries.
    pub(super) tests: Vec<Test>,
}

/// A test of a value that is stored with the entries of an index.
#[derive(Clone, Debug)]
pub(super) struct Test {
    /// Position among the included fields.
    place: usize,
    /// The accepted encodings, in ascending order.
    points: Vec<Vec<u8>>,
}

impl Scan {
    /// Total bytes of its spans.
    pub(super) fn span_bytes(&self) -> usize {
        self.spans.iter().map(|(from, to)| from.len() + to.len()).sum()
    }

    /// The workspace of an entry; `None` if the values stored with the entry show that its record
    /// does not match.
    pub(super) fn admits<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        let (included, workspace) = split_entry_value(value);
        let fits = |test: &Test| {
            let value = included.and_then(|included| value_at(included, test.place));
            // A value that was too long to be stored is tested on the record.
            value.is_none_or(|value| {
                test.points.binary_search_by(|point| point.as_slice().cmp(value)).is_ok()
            })
        };
        self.tests.iter().all(fits).then_some(workspace)
    }
}

fn value_at(mut included: &[u8], place: usize) -> Option<&[u8]> {
    for _ in 0..place {
        included = included.get(key::encoded_len(included)?..)?;
    }
    included.get(..key::encoded_len(included)?)
}

/// The tests of the included fields of an index. Conditions that its ranges answer need none.
fn tests(decl: &KindDecl, index: &Index, conditions: &[Condition], answers: &[usize]) -> Vec<Test> {
    let mut tests = Vec::new();
    for (place, path) in index.include.iter().enumerate() {
        let Some(position) = decl.position(path).filter(|position| is_scalar(decl, *position))
        else {
            continue;
        };
        for (number, condition) in conditions.iter().enumerate() {
            if let (false, Some((Step::Points(mut points), _))) =
                (answers.contains(&number), step(condition, position))
            {
                points.sort_unstable();
                tests.push(Test { place, points });
            }
        }
    }
    tests
}

/// An index whose entries with a common prefix are in the order of a query.
#[derive(Clone, Debug)]
pub(super) struct OrderedScan {
    /// The single range, and the conditions that it answers.
    pub(super) scan: Scan,
    /// The common prefix of all entries of the range; the values of the order follow it.
    pub(super) prefix: Vec<u8>,
    /// Whether the range is read from its end.
    pub(super) descending: bool,
    /// Whether entries contain values of the order. If not, record keys are the order.
    pub(super) has_terms: bool,
}

/// Most spans of a scan. Planning with more costs more than it saves.
const SPANS: usize = 20_000;
/// Most bytes of the spans of a scan: a text of the filter is copied into each span that it bounds.
pub(super) const SPAN_BYTES: usize = 16 * 1024 * 1024;

/// The restriction that a condition puts on one field of an entry.
enum Step {
    /// The field has one of these encodings.
    Points(Vec<Vec<u8>>),
    /// The field is between two marks. The fields after it cannot be restricted by ranges.
    Between(Mark, Mark),
}

/// A position between the encodings of a field.
enum Mark {
    /// Just before everything that starts with these bytes.
    Before(Vec<u8>),
    /// Just after everything that starts with these bytes.
    After(Vec<u8>),
}

impl Mark {
    fn after_prefix(&self, prefix: &[u8]) -> Vec<u8> {
        let with = |bytes: &[u8]| [prefix, bytes].concat();
        match self {
            Self::Before(bytes) => with(bytes),
            Self::After(bytes) => end_of(&with(bytes)),
        }
    }
}

/// The position after everything that starts with these bytes. Encodings never start with `ff`.
fn end_of(prefix: &[u8]) -> Vec<u8> {
    key::after_prefix(prefix).unwrap_or_else(|| vec![0xff; prefix.len() + 1])
}

fn encoded(constant: &Constant) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::push_val(&mut bytes, &constant.val());
    bytes
}

/// The restriction of `condition` on the field at `position`, if there is one; and whether one
/// record can have several entries that satisfy it.
fn step(condition: &Condition, position: usize) -> Option<(Step, bool)> {
    const NULL: u8 = 0;
    const AFTER_NULL: u8 = 1;
    const TEXT: u8 = 4;
    let once = |step| Some((step, false));
    let pair = |key_text: &str, value: &str| [key::of_str(key_text), key::of_str(value)].concat();
    let Condition::Field(field, test) = condition else { return None };
    if *field != position {
        return None;
    }
    match test {
        FieldTest::Eq(value) => once(Step::Points(vec![encoded(value)])),
        FieldTest::In(values) => once(Step::Points(values.iter().map(encoded).collect())),
        FieldTest::IsNull => once(Step::Points(vec![vec![NULL]])),
        FieldTest::NotNull => {
            once(Step::Between(Mark::Before(vec![AFTER_NULL]), Mark::Before(vec![0xff])))
        }
        FieldTest::Range(lower, upper) => {
            let from = match lower {
                Bound::Included(value) => Mark::Before(encoded(value)),
                Bound::Excluded(value) => Mark::After(encoded(value)),
                Bound::Unbounded => Mark::Before(vec![AFTER_NULL]),
            };
            let to = match upper {
                Bound::Included(value) => Mark::After(encoded(value)),
                Bound::Excluded(value) => Mark::Before(encoded(value)),
                // Text has the greatest type tag, so no value sorts after this.
                Bound::Unbounded => Mark::After(vec![TEXT]),
            };
            once(Step::Between(from, to))
        }
        FieldTest::Prefix(text) => {
            let mut prefix = Vec::new();
            key::push_str_prefix(&mut prefix, text);
            once(Step::Between(Mark::Before(prefix.clone()), Mark::After(prefix)))
        }
        FieldTest::ListHas(values) => Some((
            Step::Points(values.iter().map(|value| key::of_str(value)).collect()),
            values.len() > 1,
        )),
        FieldTest::MapEq(key, value) => once(Step::Points(vec![pair(key, value)])),
        FieldTest::MapIn(key, values) => {
            once(Step::Points(values.iter().map(|value| pair(key, value)).collect()))
        }
        FieldTest::MapKey(key) => {
            let key = key::of_str(key);
            once(Step::Between(Mark::Before(key.clone()), Mark::After(key)))
        }
        FieldTest::Contains(..) | FieldTest::MayContain(_) | FieldTest::RowsHave(..) => None,
    }
}

/// The restriction by the best condition on a field: points before ranges.
fn best_step(conditions: &[Condition], position: usize) -> Option<(usize, Step, bool)> {
    let mut range = None;
    for (number, condition) in conditions.iter().enumerate() {
        match step(condition, position) {
            Some((step @ Step::Points(_), repeats)) => return Some((number, step, repeats)),
            Some((step, repeats)) => range = range.or(Some((number, step, repeats))),
            None => {}
        }
    }
    range
}

fn is_scalar(decl: &KindDecl, position: usize) -> bool {
    let ty = decl.fields.get(position).map(|field| field.ty);
    !matches!(
        ty,
        None | Some(
            FieldType::Strings
                | FieldType::Map
                | FieldType::Maps
                | FieldType::Json
                | FieldType::Rows(_)
        )
    )
}

fn name(index: &Index) -> String {
    index.fields.join(", ")
}

/// Every prefix followed by every point, in order; `None` beyond the limits of a scan.
fn product(prefixes: &[Vec<u8>], mut points: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    points.sort_unstable();
    points.dedup();
    let bytes =
        |list: &[Vec<u8>]| list.iter().fold(0usize, |bytes, one| bytes.saturating_add(one.len()));
    let all_bytes = bytes(prefixes)
        .saturating_mul(points.len())
        .saturating_add(bytes(&points).saturating_mul(prefixes.len()));
    if prefixes.len().saturating_mul(points.len()) > SPANS || all_bytes > SPAN_BYTES {
        return None;
    }
    Some(
        prefixes
            .iter()
            .flat_map(|prefix| points.iter().map(move |point| [prefix.as_slice(), point].concat()))
            .collect(),
    )
}

/// One scan for each index that can answer some of the conditions, which must all hold.
pub(super) fn scans(decl: &KindDecl, conditions: &[Condition]) -> Vec<Scan> {
    decl.indexes.iter().filter_map(|index| scan(decl, index, conditions)).collect()
}

/// A scan of all entries of an index that has exactly one entry for each record.
pub(super) fn whole(decl: &KindDecl) -> Option<Scan> {
    let scalar = |path: &&str| decl.position(path).is_some_and(|field| is_scalar(decl, field));
    let one_each = |index: &&Index| {
        !index.unique && !index.fields.is_empty() && index.fields.iter().all(scalar)
    };
    let index = decl.indexes.iter().find(one_each)?;
    let spans = vec![(Vec::new(), vec![0xff])];
    Some(Scan {
        index: index.number,
        name: name(index),
        spans,
        answers: Vec::new(),
        distinct: true,
        tests: Vec::new(),
    })
}

/// The scan of one index: the product of the points of its leading fields, followed by at most one
/// range. `None` if the index answers no condition or does not contain every match.
fn scan(decl: &KindDecl, index: &Index, conditions: &[Condition]) -> Option<Scan> {
    let mut prefixes = vec![Vec::new()];
    let mut answers = Vec::new();
    let mut distinct = true;
    let mut between = None;
    for (place, path) in index.fields.iter().enumerate() {
        let position = decl.position(path)?;
        let found = if between.is_none() { best_step(conditions, position) } else { None };
        let Some((number, step, repeats)) = found else {
            // A list or map field gives a record one entry per element, and none if it is empty.
            // Without a condition on the field, the index may therefore lack matches.
            if !is_scalar(decl, position) {
                return None;
            }
            between.get_or_insert((Mark::Before(Vec::new()), Mark::After(Vec::new())));
            continue;
        };
        distinct &= !repeats;
        match step {
            // A unique index has no entries for records whose first field is null.
            Step::Points(points)
                if index.unique && place == 0 && points.iter().any(|point| point == &[0]) =>
            {
                return None;
            }
            Step::Points(points) => prefixes = product(&prefixes, points)?,
            Step::Between(from, to) => between = Some((from, to)),
        }
        answers.push(number);
    }
    if answers.is_empty() {
        return None;
    }
    let (from, to) = between.unwrap_or((Mark::Before(Vec::new()), Mark::After(Vec::new())));
    let spans = prefixes
        .iter()
        .map(|prefix| (from.after_prefix(prefix), to.after_prefix(prefix)))
        .filter(|(from, to)| from < to)
        .collect();
    let tests = tests(decl, index, conditions, &answers);
    Some(Scan { index: index.number, name: name(index), spans, answers, distinct, tests })
}

/// The index that has the order of a query after a prefix of equalities; the one with the longest
/// prefix.
///
/// `terms` are the positions of the fields of the order; empty means the order of record keys.
pub(super) fn ordered(
    decl: &KindDecl,
    terms: &[usize],
    descending: bool,
    conditions: &[Condition],
) -> Option<OrderedScan> {
    let mut best: Option<(usize, OrderedScan)> = None;
    for index in &decl.indexes {
        let Some((bound, found)) = ordered_by(decl, index, terms, descending, conditions) else {
            continue;
        };
        if best.as_ref().is_none_or(|(known, _)| *known < bound) {
            best = Some((bound, found));
        }
    }
    best.map(|(_, found)| found)
}

fn ordered_by(
    decl: &KindDecl,
    index: &Index,
    terms: &[usize],
    descending: bool,
    conditions: &[Condition],
) -> Option<(usize, OrderedScan)> {
    let positions =
        index.fields.iter().map(|path| decl.position(path)).collect::<Option<Vec<_>>>()?;
    let bound = positions.len().checked_sub(terms.len())?;
    let (head, tail) = positions.split_at_checked(bound)?;
    // A range on the first field of the order sets the start and the end of the walk.
    let between = match tail.first().and_then(|first| best_step(conditions, *first)) {
        Some((number, Step::Between(from, to), _)) => Some((number, from, to)),
        _ => None,
    };
    // A unique index has no entries for null, so it contains every match only if its first field is
    // restricted or is never null.
    let has_null = || index.fields.first().is_none_or(|path| !decl.never_null.contains(path));
    let sparse = index.unique && head.is_empty() && between.is_none() && has_null();
    if tail != terms || sparse || positions.is_empty() || (terms.is_empty() && head.is_empty()) {
        return None;
    }
    if !tail.iter().all(|&position| is_scalar(decl, position)) {
        return None;
    }
    let mut prefix = Vec::new();
    let mut answers = Vec::new();
    for (place, &position) in head.iter().enumerate() {
        let (number, Step::Points(points), _) = best_step(conditions, position)? else {
            return None;
        };
        let [point] = points.as_slice() else { return None };
        if index.unique && place == 0 && point == &[0] {
            return None;
        }
        prefix.extend_from_slice(point);
        answers.push(number);
    }
    let mut span = (prefix.clone(), end_of(&prefix));
    if let Some((number, from, to)) = between {
        span = (from.after_prefix(&prefix), to.after_prefix(&prefix));
        answers.push(number);
    }
    let tests = tests(decl, index, conditions, &answers);
    let scan = Scan {
        index: index.number,
        name: name(index),
        spans: vec![span],
        answers,
        distinct: true,
        tests,
    };
    Some((bound, OrderedScan { scan, prefix, descending, has_terms: !terms.is_empty() }))
}
