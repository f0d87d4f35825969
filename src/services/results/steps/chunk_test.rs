//! Tests of columns on the steps of chunks: a few members of a step tell whether the others have to
//! be read.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::Result;
use crate::filter::{Comparison, Constant, Shape};
use crate::model::places;
use crate::model::steps::rows::StepColumn;
use crate::model::steps::stored::{StepChunk, StoredStep};
use crate::session::tables::RowChunk;
use crate::value::Stored as _;
use crate::value::cache::{Cache, bounded};
use crate::value::stored::{self, Members, Payload};

/// The columns that are members of a step, with their names.
const MEMBERS: [(StepColumn, &str); 13] = [
    (StepColumn::Seq, "seq"),
    (StepColumn::StepId, "stepId"),
    (StepColumn::ParentId, "parentId"),
    (StepColumn::Name, "name"),
    (StepColumn::StepType, "stepType"),
    (StepColumn::StatusType, "statusType"),
    (StepColumn::StatusName, "statusName"),
    (StepColumn::StartedAt, "startedAtMs"),
    (StepColumn::UpdatedAt, "updatedAtMs"),
    (StepColumn::TotalTime, "totalTime"),
    (StepColumn::DataModel, "dataModel"),
    (StepColumn::Path, "path"),
    (StepColumn::HasChildren, "hasChildren"),
];

/// The members of a step with these names.
pub(in crate::services::results) fn members(names: &[&'static str]) -> Members {
    places(StoredStep::members(), &mut names.iter().copied().map(Some))
}

/// The members that tests read; `None` if they read something else.
fn members_of(shapes: &[Shape]) -> Option<Members> {
    let mut names = Vec::new();
    shapes.iter().all(|shape| add_members(shape, &mut names)).then(|| members(&names))
}

fn add_members(shape: &Shape, names: &mut Vec<&'static str>) -> bool {
    shape.reads_only(&mut |column| {
        let known = MEMBERS.iter().find(|(known, _)| *known as usize == column);
        names.extend(known.map(|(_, name)| *name));
        // The key of the chunk has the result.
        known.is_some() || column == StepColumn::Result as usize
    })
}

fn text(step: &StoredStep, column: usize) -> Option<Option<&str>> {
    let is = |wanted: StepColumn| wanted as usize == column;
    if is(StepColumn::Name) {
        Some(Some(&step.name))
    } else if is(StepColumn::Path) {
        Some(Some(&step.path))
    } else if is(StepColumn::StatusType) {
        Some(step.status_type.as_deref())
    } else if is(StepColumn::StepType) {
        Some(step.step_type.as_deref())
    } else {
        None
    }
}

fn time(step: &StoredStep, column: usize) -> Option<i64> {
    let is = |wanted: StepColumn| wanted as usize == column;
    if is(StepColumn::StartedAt) {
        Some(step.started_at_ms)
    } else if is(StepColumn::UpdatedAt) {
        Some(step.updated_at_ms)
    } else {
        None
    }
}

/// Chunks whose starts are kept: at least as many as wait to be sealed.
const KEPT: usize = 16 * 1024;

/// The least and the greatest start of the steps of a chunk.
type Starts = (i64, i64);

/// The starts of the steps of chunks, by hashes of the stored bytes.
static STARTS: LazyLock<Cache<u128, Starts>> = LazyLock::new(|| bounded(KEPT, KEPT, |_, _| 1));

fn starts_of(chunk: &RowChunk) -> Result<Starts> {
    let hash = xxh3_128(&chunk.row);
    if let Some(known) = STARTS.get(&hash) {
        return Ok(known);
    }
    let mut starts = (i64::MAX, i64::MIN);
    let (mut step, wanted) = (StoredStep::default(), members(&["startedAtMs"]));
    stored::each_listed::<StoredStep>(chunk.payload()?, &mut |stored| {
        stored::fill(&mut step, stored, wanted)?;
        starts = (starts.0.min(step.started_at_ms), starts.1.max(step.started_at_ms));
        Ok(true)
    })?;
    STARTS.insert(hash, starts);
    Ok(starts)
}

/// The starts that steps need to pass all of these tests; `None` for any.
fn wanted_starts(shapes: &[Shape]) -> Option<Starts> {
    let (mut low, mut high) = (i64::MIN, i64::MAX);
    for shape in shapes {
        let Shape::Compare(column, comparison, Constant::Time(wanted)) = shape else { continue };
        if *column != StepColumn::StartedAt as usize {
            continue;
        }
        let wanted = *wanted;
        match comparison {
            Comparison::Eq => (low, high) = (low.max(wanted), high.min(wanted)),
            Comparison::Ge => low = low.max(wanted),
            Comparison::Gt => low = low.max(wanted.saturating_add(1)),
            Comparison::Le => high = high.min(wanted),
            Comparison::Lt => high = high.min(wanted.saturating_sub(1)),
            Comparison::Ne => {}
        }
    }
    ((low, high) != (i64::MIN, i64::MAX)).then_some((low, high))
}

/// Whether a step may pass a test. Tests that are not known here it may pass.
fn may_pass(shape: &Shape, step: &StoredStep) -> bool {
    match shape {
        Shape::Const(value) => *value,
        Shape::All(shapes) => shapes.iter().all(|shape| may_pass(shape, step)),
        Shape::Any(shapes) => shapes.iter().any(|shape| may_pass(shape, step)),
        Shape::Compare(column, Comparison::Eq, Constant::Text(wanted)) => {
            text(step, *column).is_none_or(|own| own == Some(&**wanted))
        }
        Shape::Compare(column, comparison, Constant::Time(wanted)) => time(step, *column)
            .is_none_or(|own| match comparison {
                Comparison::Eq => own == *wanted,
                Comparison::Ne => own != *wanted,
                Comparison::Lt => own < *wanted,
                Comparison::Le => own <= *wanted,
                Comparison::Gt => own > *wanted,
                Comparison::Ge => own >= *wanted,
            }),
        Shape::In(column, values, false) => text(step, *column).is_none_or(|own| {
            values.iter().any(|value| match value {
                Constant::Text(wanted) => own == Some(&**wanted),
                _ => true,
            })
        }),
        _ => true,
    }
}

/// The text that a step with this value in a column has among its stored bytes.
fn needle(shape: &Shape) -> Option<&str> {
    let Shape::Compare(column, Comparison::Eq, Constant::Text(wanted)) = shape else { return None };
    let is_text = text(&StoredStep::default(), *column).is_some();
    Some(&**wanted).filter(|wanted| is_text && !wanted.is_empty())
}

/// Tests of columns that only wanted steps pass.
pub(in crate::services::results) struct ChunkTest {
    shapes: Vec<Shape>,
    /// Whether none was left out.
    has_all: bool,
    /// The members that the tests read.
    members: Members,
    /// Texts that are among the stored bytes of every step that passes. To look for them costs a
    /// fraction of decoding a step.
    needles: Vec<Finder<'static>>,
    /// The starts that steps need to pass; `None` for any.
    starts: Option<Starts>,
}

impl ChunkTest {
    /// Leaves out the tests that read something else than members of steps.
    pub(in crate::services::results) fn new(shapes: &[Shape]) -> Self {
        let is_known = |shape: &&Shape| add_members(shape, &mut Vec::new());
        let count = shapes.len();
        let shapes: Vec<Shape> = shapes.iter().filter(is_known).cloned().collect();
        let members = members_of(&shapes).unwrap_or(Members::ALL);
        let needles = shapes.iter().filter_map(needle);
        let needles = needles.map(|text| Finder::new(text).into_owned()).collect();
        let starts = wanted_starts(&shapes);
        Self { has_all: shapes.len() == count, shapes, members, needles, starts }
    }

    /// Whether no test reads something else than members of steps.
    pub(super) fn has_all_tests(&self) -> bool {
        self.has_all
    }

    /// Leaves out steps without a parameter of this name, too.
    #[must_use]
    pub(in crate::services::results) fn with_measurement(mut self, name: &str) -> Self {
        self.needles.push(Finder::new(name).into_owned());
        self
    }

    fn may_contain(&self, bytes: &[u8]) -> bool {
        self.needles.iter().all(|needle| needle.find(bytes).is_some())
    }

    /// Calls `f` with the steps of a chunk that may pass the tests, until it returns false: with
    /// the members that the tests read, and with the stored bytes.
    ///
    /// # Errors
    /// `Corrupt`, and those of `f`.
    pub(in crate::services::results) fn each(
        &self,
        chunk: &RowChunk,
        f: &mut dyn FnMut(&StoredStep, Payload<'_>) -> Result<bool>,
    ) -> Result<()> {
        if let Some((low, high)) = self.starts {
            let (least, greatest) = starts_of(chunk)?;
            if greatest < low || high < least {
                return Ok(());
            }
        }
        let payload = chunk.payload()?;
        if !self.may_contain(payload.bytes) {
            return Ok(());
        }
        let mut step = StoredStep::default();
        stored::each_listed::<StoredStep>(payload, &mut |stored| {
            if !self.may_contain(stored.bytes) {
                return Ok(true);
            }
            stored::fill(&mut step, stored, self.members)?;
            let passes = self.shapes.iter().all(|shape| may_pass(shape, &step));
            if passes { f(&step, stored) } else { Ok(true) }
        })
    }

    /// The steps of a chunk that may pass the tests.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn steps(&self, chunk: &RowChunk) -> Result<Vec<StoredStep>> {
        if self.shapes.is_empty() {
            return Ok(chunk.value::<StepChunk>()?.steps);
        }
        let mut steps = Vec::new();
        self.each(chunk, &mut |_, stored| {
            steps.push(stored::read(stored)?);
            Ok(true)
        })?;
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(column: StepColumn, comparison: Comparison, value: Constant) -> Shape {
        Shape::Compare(column as usize, comparison, value)
    }

    #[test]
    fn steps_pass_what_is_not_known_and_fail_what_is_false() {
        let step = StoredStep {
            name: "a".to_owned(),
            status_type: Some("PASSED".to_owned()),
            started_at_ms: 5,
            ..StoredStep::default()
        };
        let text = |text: &str| Constant::Text(text.into());
        let name = |wanted: &str| compare(StepColumn::Name, Comparison::Eq, text(wanted));
        let started = |comparison| compare(StepColumn::StartedAt, comparison, Constant::Time(5));
        let status = |texts: &[&str]| {
            let values = texts.iter().map(|one| text(one)).collect();
            Shape::In(StepColumn::StatusType as usize, values, false)
        };
        let unknown = compare(StepColumn::TotalTime, Comparison::Gt, Constant::Double(1.0));
        for (shape, passes) in [
            (name("a"), true),
            (name("b"), false),
            (started(Comparison::Ge), true),
            (started(Comparison::Gt), false),
            (started(Comparison::Le), true),
            (started(Comparison::Lt), false),
            (started(Comparison::Eq), true),
            (started(Comparison::Ne), false),
            (status(&["FAILED", "PASSED"]), true),
            (status(&["FAILED"]), false),
            (compare(StepColumn::StepType, Comparison::Eq, text("a")), false),
            (unknown.clone(), true),
            (Shape::Not(Box::new(name("a"))), true),
            (Shape::Any(vec![name("b"), unknown.clone()]), true),
            (Shape::Any(vec![name("b"), name("c")]), false),
            (Shape::All(vec![name("b"), unknown]), false),
            (Shape::Const(false), false),
        ] {
            assert_eq!(may_pass(&shape, &step), passes, "{shape:?}");
        }
    }

    #[test]
    fn the_starts_that_pass_follow_from_all_tests_of_them() {
        let started =
            |comparison, value| compare(StepColumn::StartedAt, comparison, Constant::Time(value));
        let (least, greatest) = (i64::MIN, i64::MAX);
        for (shapes, wanted) in [
            (vec![], None),
            (vec![compare(StepColumn::UpdatedAt, Comparison::Ge, Constant::Time(5))], None),
            (vec![started(Comparison::Ne, 5)], None),
            (vec![Shape::Any(vec![started(Comparison::Eq, 5)])], None),
            (vec![started(Comparison::Ge, 5)], Some((5, greatest))),
            (vec![started(Comparison::Gt, 5)], Some((6, greatest))),
            (vec![started(Comparison::Le, 5)], Some((least, 5))),
            (vec![started(Comparison::Lt, 5)], Some((least, 4))),
            (vec![started(Comparison::Eq, 5)], Some((5, 5))),
            (vec![started(Comparison::Ge, 3), started(Comparison::Lt, 5)], Some((3, 4))),
            (
                vec![
                    started(Comparison::Ge, 5),
                    started(Comparison::Ge, 3),
                    started(Comparison::Gt, 1),
                ],
                Some((5, greatest)),
            ),
            (
                vec![
                    started(Comparison::Le, 5),
                    started(Comparison::Le, 7),
                    started(Comparison::Lt, 9),
                ],
                Some((least, 5)),
            ),
            (vec![started(Comparison::Eq, 3), started(Comparison::Eq, 5)], Some((5, 3))),
        ] {
            assert_eq!(wanted_starts(&shapes), wanted, "{shapes:?}");
        }
    }

    #[test]
    fn every_member_is_one_of_a_step() {
        for (_, name) in MEMBERS {
            assert!(StoredStep::members().iter().any(|known| known.name == name), "{name}");
        }
        let data = Shape::IsNull(StepColumn::Text as usize);
        assert!(members_of(&[data]).is_none());
        assert_eq!(members_of(&[]), Some(Members::NONE));
    }
}
