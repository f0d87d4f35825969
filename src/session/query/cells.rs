//! Counting by columns: conditions on numbers, as ranges of column values of the text index.

use std::ops::{Bound, RangeInclusive};

use super::candidates::Candidates;
use super::offers::{Count, Offer, Question};
use super::predicate::Predicate;
use super::walk;
use crate::error::Result;
use crate::filter::{Condition, Constant, FieldTest};
use crate::model::KindDecl;
use crate::session::view::View;
use crate::text::Ask;
use crate::value::{FieldType, Val};

/// The offer of the columns: one for all conditions together, if there is a column for each.
pub(super) fn columns(question: &Question<'_>) -> Option<Offer<Vec<Ask>>> {
    let Question { view, decl, predicate, .. } = question;
    let asks = predicate.conditions.iter().map(|condition| ask(view, decl, condition));
    let set = asks.collect::<Option<Vec<_>>>()?;
    Some(Offer { answers: (0..set.len()).collect(), set })
}

/// The question to a column that a condition stands for; `None` if there is no column for it.
fn ask(view: &View<'_>, of: &KindDecl, condition: &Condition) -> Option<Ask> {
    let Condition::Field(field, test) = condition else { return None };
    let decl = of.fields.get(*field)?;
    let search = &view.context().engine.search;
    match decl.ty {
        FieldType::Int | FieldType::Time => {
            let ranges = ranges(
                test,
                int,
                i64::MIN..=i64::MAX,
                |value| value.checked_add(1),
                |value| value.checked_sub(1),
            )?;
            Some(Ask::Int(search.column(view, of.kind, decl.path)?, ranges))
        }
        FieldType::Double => {
            // NaN is in no range, in the columns too. So a column cannot answer `NotNull`.
            let all = f64::NEG_INFINITY..=f64::INFINITY;
            let up = |value: f64| (value < f64::INFINITY).then(|| value.next_up());
            let down = |value: f64| (value > f64::NEG_INFINITY).then(|| value.next_down());
            if *test == FieldTest::NotNull {
                return None;
            }
            Some(Ask::Float(
                search.column(view, of.kind, decl.path)?,
                ranges(test, float, all, up, down)?,
            ))
        }
        _ => None,
    }
}

fn int(constant: &Constant) -> Option<i64> {
    match constant.val() {
        Val::Int(value) | Val::Time(value) => Some(value),
        _ => None,
    }
}

fn float(constant: &Constant) -> Option<f64> {
    match constant.val() {
        Val::Double(value) if !value.is_nan() => Some(if value == 0.0 { 0.0 } else { value }),
        _ => None,
    }
}

/// The ranges of a condition. An empty list means that no value satisfies it.
fn ranges<T: Copy + PartialOrd>(
    test: &FieldTest,
    read: impl Fn(&Constant) -> Option<T>,
    all: RangeInclusive<T>,
    after: impl Fn(T) -> Option<T>,
    before: impl Fn(T) -> Option<T>,
) -> Option<Vec<RangeInclusive<T>>> {
    let one = |value: &Constant| read(value).map(|value| value..=value);
    match test {
        FieldTest::NotNull => Some(vec![all]),
        FieldTest::Eq(value) => Some(vec![one(value)?]),
        FieldTest::In(values) => values.iter().map(one).collect(),
        FieldTest::Range(lower, upper) => {
            let from = match lower {
                Bound::Included(value) => Some(read(value)?),
                Bound::Excluded(value) => after(read(value)?),
                Bound::Unbounded => Some(*all.start()),
            };
            let to = match upper {
                Bound::Included(value) => Some(read(value)?),
                Bound::Excluded(value) => before(read(value)?),
                Bound::Unbounded => Some(*all.end()),
            };
            Some(
                from.zip(to)
                    .filter(|(from, to)| from <= to)
                    .map(|(from, to)| from..=to)
                    .into_iter()
                    .collect(),
            )
        }
        _ => None,
    }
}

/// The number of matches, and the number of index entries that were read for it; `None` if every
/// match must be read.
pub(super) fn count(
    view: &View<'_>,
    candidates: &mut dyn Candidates,
    count: Option<&Count>,
    predicate: &Predicate,
) -> Result<Option<(u64, u64)>> {
    match count {
        None => Ok(None),
        Some(Count::Entries(sets)) => {
            walk::count(view, predicate.decl.kind, sets, &predicate.visibility).map(Some)
        }
        Some(Count::Columns(asks)) => {
            let search = &view.context().engine.search;
            let Some((mut found, unsettled)) =
                search.count_cells(view, predicate.decl.kind, asks, &predicate.visibility)
            else {
                return Ok(None);
            };
            for key in unsettled {
                found += u64::from(candidates.matches(predicate, key)?);
            }
            Ok(Some((found, 0)))
        }
    }
}
