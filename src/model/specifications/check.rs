//! Checks of measured values against a specification: one value at a time, or a table column as a
//! stream of batches.
//!
//! The functions depend only on the specification and the values; they do not read a store. A
//! specification applies to a value if all its conditions are met. Otherwise the value is not
//! judged.

use crate::arrow::array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use crate::arrow::convert;
use crate::error::{Error, Result};
use crate::model::specifications::condition::{Condition, ConditionValue};
use crate::model::specifications::specification::{Specification, SpecificationType};
use crate::value::Number;

/// The actual value of one condition during a measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionPoint {
    /// The value of a numeric condition, in the unit of the specification.
    Number(f64),
    /// The value of a textual condition.
    Text(String),
}

impl From<f64> for ConditionPoint {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for ConditionPoint {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// Which limit a value violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSide {
    /// The value is not above the minimum.
    Min,
    /// The value is not below the maximum.
    Max,
}

/// The result of checking a value against a specification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Strictly between the limits; `margin` is the distance to the nearer one, infinite without
    /// limits.
    Inside {
        /// Distance to the nearer limit.
        margin: f64,
    },
    /// At a limit or beyond it, by `by`.
    Outside {
        /// The limit.
        limit: LimitSide,
        /// How far beyond it; zero at the limit itself.
        by: f64,
    },
    /// The value is null or NaN.
    NotMeasured,
    /// A condition is not met or was not given, or the specification is functional and has no
    /// limits.
    NotApplicable,
}

impl Verdict {
    /// Whether the value passes.
    #[must_use]
    pub fn is_inside(self) -> bool {
        matches!(self, Self::Inside { .. })
    }

    /// A score for comparison: the margin, or minus the violation; `None` if the value was not
    /// judged.
    fn score(self) -> Option<f64> {
        match self {
            Self::Inside { margin } => Some(margin),
            // At the limit itself the score is -0.0, less than that of every value inside.
            Self::Outside { by, .. } => Some(-by),
            Self::NotMeasured | Self::NotApplicable => None,
        }
    }
}

impl Condition {
    /// Whether the condition is met at `point`: inside one of its ranges, ends included, or equal
    /// to one of its single values. A condition without entries is always met. The step of a range
    /// is ignored.
    #[must_use]
    pub fn holds_at(&self, point: &ConditionPoint) -> bool {
        match (&self.value, point) {
            (None, _) => true,
            (Some(ConditionValue::Numeric(value)), ConditionPoint::Number(number)) => {
                let mut ranges = value.range.iter().flatten();
                let mut discrete = value.discrete.iter().flatten().flatten();
                let is_empty = ranges.clone().next().is_none() && discrete.clone().next().is_none();
                is_empty
                    || discrete.any(|entry| entry.as_f64() == *number)
                    || ranges.any(|range| {
                        range.min.is_none_or(|min| min.as_f64() <= *number)
                            && range.max.is_none_or(|max| *number <= max.as_f64())
                    })
            }
            (Some(value), ConditionPoint::Text(text)) => value.texts().is_some_and(|value| {
                value
                    .discrete
                    .as_ref()
                    .is_none_or(|entries| entries.is_empty() || entries.contains(text))
            }),
            _ => false,
        }
    }
}

impl Specification {
    /// Checks one value that was measured under `conditions`, given as name and point.
    ///
    /// A value at a limit is outside. The unit of the value must be that of the specification.
    ///
    /// ```
    /// use stationdb::specifications::{ConditionPoint, LimitSide, Specification, Verdict};
    ///
    /// // The gain of an amplifier over temperature and supply.
    /// let gain: Specification = serde_json::from_str(
    ///     r#"{"specId": "GAIN", "type": "PARAMETRIC", "unit": "dB", "limit": {"min": 19.0, "max": 21.0}, "conditions": [
    ///         {"name": "Temperature", "value": {"range": [{"min": -25, "max": 85}], "unit": "C"}},
    ///         {"name": "Supply", "value": {"discrete": [3.3, 5], "unit": "V"}}]}"#,
    /// )?;
    /// let at = |temperature: f64, supply: f64| {
    ///     [("Temperature", ConditionPoint::from(temperature)), ("Supply", ConditionPoint::from(supply))]
    /// };
    /// assert_eq!(gain.check(20.5, &at(25.0, 5.0)), Verdict::Inside { margin: 0.5 });
    /// assert_eq!(gain.check(21.25, &at(85.0, 3.3)), Verdict::Outside { limit: LimitSide::Max, by: 0.25 });
    /// assert_eq!(gain.check(21.25, &at(100.0, 3.3)), Verdict::NotApplicable);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn check(&self, value: f64, conditions: &[(&str, ConditionPoint)]) -> Verdict {
        let holds = self.conditions.iter().flatten().all(|condition| {
            let Some(name) = condition.name.as_deref() else { return true };
            conditions.iter().any(|(given, point)| *given == name && condition.holds_at(point))
        });
        if holds { self.judge(value) } else { Verdict::NotApplicable }
    }

    /// Checks a value for which the conditions are met.
    fn judge(&self, value: f64) -> Verdict {
        let limit = self.limit.as_ref();
        let (min, max) = (limit.and_then(|limit| limit.min), limit.and_then(|limit| limit.max));
        let (min, max) = (min.map(Number::as_f64), max.map(Number::as_f64));
        if self.r#type == Some(SpecificationType::Functional) && min.is_none() && max.is_none() {
            return Verdict::NotApplicable;
        }
        if value.is_nan() {
            return Verdict::NotMeasured;
        }
        let (above, below) = (min.map(|min| value - min), max.map(|max| max - value));
        let violation = [(above, LimitSide::Min), (below, LimitSide::Max)]
            .into_iter()
            .filter_map(|(room, side)| room.filter(|room| *room <= 0.0).map(|room| (-room, side)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match violation {
            Some((by, limit)) => Verdict::Outside { limit, by: by + 0.0 },
            None => Verdict::Inside {
                margin: above.unwrap_or(f64::INFINITY).min(below.unwrap_or(f64::INFINITY)),
            },
        }
    }

    /// Checks a column of a table, batch by batch, in constant memory.
    ///
    /// `condition_columns` names, for each condition of the specification, the column that contains
    /// its points. The column of a textual condition is read as text, any other one as doubles.
    ///
    /// # Errors
    /// The errors of the batches; `InvalidArgument` if a batch lacks a column or a column cannot be
    /// read.
    pub fn check_column(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
        column: &str,
        condition_columns: &[(&str, &str)],
    ) -> Result<CheckSummary> {
        let mut summary = CheckSummary::default();
        for batch in batches {
            summary.add_batch(self, &batch?, column, condition_columns)?;
        }
        Ok(summary)
    }
}

/// A row and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorstRow {
    /// Zero-based row over all batches.
    pub row: u64,
    /// The value.
    pub value: f64,
    /// Its verdict.
    pub verdict: Verdict,
}

/// The summary of checking many values.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CheckSummary {
    /// All rows.
    pub row_count: u64,
    /// Rows strictly between the limits.
    pub inside_count: u64,
    /// Rows at a limit or beyond it.
    pub outside_count: u64,
    /// Rows without a number.
    pub not_measured_count: u64,
    /// Rows to which the specification does not apply.
    pub not_applicable_count: u64,
    /// The row furthest outside, or if none is outside, the row nearest to a limit; the first one
    /// of equal rows.
    pub worst: Option<WorstRow>,
}

impl CheckSummary {
    /// The fraction of judged rows that are inside, from 0 to 1; `None` if no row was judged.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    pub fn yield_fraction(&self) -> Option<f64> {
        let judged = self.inside_count + self.outside_count;
        (judged > 0).then(|| self.inside_count as f64 / judged as f64)
    }

    /// Counts one verdict.
    pub fn add(&mut self, value: f64, verdict: Verdict) {
        match verdict {
            Verdict::Inside { .. } => self.inside_count += 1,
            Verdict::Outside { .. } => self.outside_count += 1,
            Verdict::NotMeasured => self.not_measured_count += 1,
            Verdict::NotApplicable => self.not_applicable_count += 1,
        }
        let is_worse = |score: f64| {
            self.worst
                .and_then(|worst| worst.verdict.score())
                .is_none_or(|worst| score.total_cmp(&worst).is_lt())
        };
        if verdict.score().is_some_and(is_worse) {
            self.worst = Some(WorstRow { row: self.row_count, value, verdict });
        }
        self.row_count += 1;
    }

    /// Counts the rows of one batch; see [`Specification::check_column`].
    ///
    /// # Errors
    /// `InvalidArgument` if the batch lacks a column or a column cannot be read; then no row is
    /// counted.
    pub fn add_batch(
        &mut self,
        specification: &Specification,
        batch: &RecordBatch,
        column: &str,
        condition_columns: &[(&str, &str)],
    ) -> Result<()> {
        let values = numbers_of(batch, column)?;
        let mut applies = vec![true; batch.num_rows()];
        for condition in specification.conditions.iter().flatten() {
            let Some(name) = condition.name.as_deref() else { continue };
            let Some((_, from)) = condition_columns.iter().find(|(given, _)| *given == name) else {
                applies.fill(false);
                break;
            };
            and_holds(&mut applies, condition, batch, from)?;
        }
        for (row, applies) in applies.into_iter().enumerate() {
            let value = if values.is_null(row) { f64::NAN } else { values.value(row) };
            self.add(
                value,
                if applies { specification.judge(value) } else { Verdict::NotApplicable },
            );
        }
        Ok(())
    }
}

/// Clears `applies` for the rows that do not meet `condition`. A null does not meet it.
fn and_holds(
    applies: &mut [bool],
    condition: &Condition,
    batch: &RecordBatch,
    column: &str,
) -> Result<()> {
    if condition.value.as_ref().is_some_and(|value| value.texts().is_some()) {
        let points = texts_of(batch, column)?;
        for (applies, point) in applies.iter_mut().zip(&points) {
            *applies &= point.is_some_and(|point| condition.holds_at(&ConditionPoint::from(point)));
        }
    } else {
        let points = numbers_of(batch, column)?;
        for (applies, point) in applies.iter_mut().zip(&points) {
            *applies &= point.is_some_and(|point| condition.holds_at(&ConditionPoint::from(point)));
        }
    }
    Ok(())
}

fn column_of<'b>(batch: &'b RecordBatch, column: &str) -> Result<&'b ArrayRef> {
    batch.column_by_name(column).ok_or_else(|| {
        Error::invalid(format!("the batch has no column {column:?} to check")).at_member(column)
    })
}

fn unreadable(array: &dyn Array, column: &str, wanted: &str) -> Error {
    let message =
        format!("column {column:?} of type {} cannot be read as {wanted}", array.data_type());
    Error::invalid(message).at_member(column)
}

fn numbers_of(batch: &RecordBatch, column: &str) -> Result<Float64Array> {
    let array = column_of(batch, column)?;
    convert::to_float64(array).ok_or_else(|| unreadable(array, column, "Float64"))
}

fn texts_of(batch: &RecordBatch, column: &str) -> Result<StringArray> {
    let array = column_of(batch, column)?;
    convert::to_text(array).ok_or_else(|| unreadable(array, column, "Utf8"))
}
