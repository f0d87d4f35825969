//! Gage studies: how much of the deviation of values the gage makes.

use std::collections::HashMap;

use super::numbers::{Total, figure, ratio};
use crate::error::{Error, Result};
use crate::model::results::figures::GageStudy;
use crate::value::exact::Big;
use crate::value::limits;

/// Takes the values of a crossed study, in any order.
#[derive(Debug, Default)]
pub(crate) struct GageValues {
    parts: Names,
    operators: Names,
    cells: HashMap<(usize, usize), Total>,
    unassigned: i64,
}

/// Names, and their numbers in order of arrival.
#[derive(Debug, Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.0.get(name) {
            return *number;
        }
        let number = self.0.len();
        self.0.insert(name.to_owned(), number);
        number
    }

    fn name(&self, number: usize) -> &str {
        let known = self.0.iter().find(|(_, known)| **known == number);
        known.map_or("", |(name, _)| name)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The sums of squares of the values, of their cells, parts and operators, and of all.
struct Squares {
    values: Big,
    cells: Big,
    parts: Big,
    operators: Big,
    all: Big,
}

impl GageValues {
    /// Adds a finite value of a part by an operator.
    ///
    /// # Errors
    /// `LimitExceeded` for too many parts and operators.
    pub(crate) fn add(
        &mut self,
        part: Option<&str>,
        operator: Option<&str>,
        value: f64,
    ) -> Result<()> {
        let [part, operator] = [part, operator].map(|name| name.filter(|name| !name.is_empty()));
        let (Some(part), Some(operator)) = (part, operator) else {
            self.unassigned += 1;
            return Ok(());
        };
        let cell = (self.parts.number(part), self.operators.number(operator));
        self.cells.entry(cell).or_default().add(value);
        if self.cells.len() > limits::AGGREGATE_GROUPS {
            return Err(Error::limit(format!(
                "more than {0} pairs of a serial number and an operator; AGGREGATE_GROUPS allows \
                 {0}: filter the results",
                limits::AGGREGATE_GROUPS
            ))
            .with_args([limits::AGGREGATE_GROUPS.to_string()]));
        }
        Ok(())
    }

    /// Values of each part by each operator.
    fn trials(&self) -> Result<u64> {
        let (parts, operators) = (self.parts.len(), self.operators.len());
        if parts < 2 || operators < 2 {
            return Err(Error::invalid(format!(
                "a study needs at least two serial numbers and two operators; the values are of \
                 {parts} and of {operators}"
            )));
        }
        let count = |cell: (usize, usize)| self.cells.get(&cell).map_or(0, |total| total.count);
        let trials = count((0, 0));
        for part in 0..parts {
            for operator in 0..operators {
                let found = count((part, operator));
                if found != trials {
                    let names = (self.parts.name(part), self.operators.name(operator));
                    let first = (self.parts.name(0), self.operators.name(0));
                    return Err(Error::invalid(format!(
                        "the study is not balanced: {found} values of {:?} by {:?}, {trials} of \
                         {:?} by {:?}",
                        names.0, names.1, first.0, first.1
                    ))
                    .with_args([names.0, names.1]));
                }
            }
        }
        if trials < 2 {
            return Err(Error::invalid(
                "a study needs at least two values of each serial number by \
                                       each operator",
            ));
        }
        Ok(trials)
    }

    fn squares(&self) -> Squares {
        let mut parts = vec![Total::default(); self.parts.len()];
        let mut operators = vec![Total::default(); self.operators.len()];
        let mut all = Total::default();
        let mut cells = Big::of_int(0);
        for ((part, operator), total) in &self.cells {
            let sum = total.exact();
            cells = cells.plus(&sum.total().times(sum.total()));
            if let Some(part) = parts.get_mut(*part) {
                part.merge(total.clone());
            }
            if let Some(operator) = operators.get_mut(*operator) {
                operator.merge(total.clone());
            }
            all.merge(total.clone());
        }
        let of = |totals: &[Total]| {
            totals.iter().fold(Big::of_int(0), |sum, total| {
                let exact = total.exact();
                sum.plus(&exact.total().times(exact.total()))
            })
        };
        let (parts, operators) = (of(&parts), of(&operators));
        let all = all.exact();
        let square = all.total().times(all.total());
        Squares { values: all.squares().clone(), cells, parts, operators, all: square }
    }

    /// The study of the values that were added.
    ///
    /// # Errors
    /// `InvalidArgument` for a study that is not crossed and balanced.
    pub(crate) fn finish(&self) -> Result<GageStudy> {
        let trials = self.trials()?;
        let (part_count, operator_count) = (self.parts.len(), self.operators.len());
        let [p, o, r] = [part_count as u64, operator_count as u64, trials].map(i128::from);
        let squares = self.squares();
        let times = |value: &Big, factor: i128| value.times(&Big::of_int(factor));
        let minus = |value: Big, other: Big| value.plus(&other.negated());
        // Sums of squares times p o r, which are integers times a power of two: nothing is rounded
        // before the subtractions.
        let cells = times(&squares.cells, p * o);
        let (parts, operators) = (times(&squares.parts, p), times(&squares.operators, o));
        let error = minus(times(&squares.values, p * o * r), cells.clone());
        let interaction = minus(minus(cells, parts.clone()), operators.clone()).plus(&squares.all);
        let parts = minus(parts, squares.all.clone());
        let operators = minus(operators, squares.all);
        // The variances: differences of mean squares over a count.
        let free = (p - 1) * (o - 1);
        let free_error = p * o * (r - 1);
        let all = (p * o * r) as f64;
        let repeatability = error.root_over(all * free_error as f64);
        let interaction_deviation = minus(times(&interaction, free_error), times(&error, free))
            .root_over(all * free as f64 * free_error as f64 * r as f64);
        let operators = minus(times(&operators, p - 1), interaction.clone())
            .root_over(all * free as f64 * (p * r) as f64);
        let parts =
            minus(times(&parts, o - 1), interaction).root_over(all * free as f64 * (o * r) as f64);
        let gage = repeatability.hypot(interaction_deviation).hypot(operators);
        let total = gage.hypot(parts);
        let categories = ratio(parts, gage).map(|ratio| (std::f64::consts::SQRT_2 * ratio).floor());
        Ok(GageStudy {
            n: (p * o * r) as i64,
            part_count: part_count as i64,
            operator_count: operator_count as i64,
            trials: trials.cast_signed(),
            repeatability: figure(repeatability),
            interaction: figure(interaction_deviation),
            operators: figure(operators),
            parts: figure(parts),
            gage_rr: figure(gage),
            total: figure(total),
            percent_study: ratio(gage, total).map(|ratio| 100.0 * ratio),
            distinct_categories: categories.map(|categories| categories as i64),
            unassigned: self.unassigned,
            ..GageStudy::default()
        })
    }
}
