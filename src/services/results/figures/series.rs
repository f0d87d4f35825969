//! The values of one measurement, in order of their results.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write;

use super::limits::Limits;
use crate::error::{Error, Result};
use crate::model::results::figure_requests::SeriesSelection;
use crate::value::limits;

/// Names in the message of an error.
const NAMED: usize = 20;

/// A measurement that may take part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a, S> {
    /// The number of its text; none of a text that is no number.
    pub value: Option<f64>,
    pub units: Option<&'a str>,
    pub path: &'a str,
    pub limits: Limits,
    /// Whether its step was skipped.
    pub is_skipped: bool,
    pub at: Place<S>,
}

/// Where a value is: in the order of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place<S> {
    pub started_at_ms: i64,
    pub result_id: [u8; 16],
    /// The step: its place in the step order of the result, and what else the reader needs.
    pub step: S,
    /// The position in the parameters of the step.
    pub position: u32,
}

/// Takes the measurements that the request selects by name and by step, in any order.
#[derive(Debug)]
pub(crate) struct Series<S> {
    /// The units of the request; empty for none.
    units: Option<String>,
    /// Whether the values may have several paths.
    any_path: bool,
    limits: Option<Limits>,
    numbers: Vec<f64>,
    /// The place of each number; none if they are not kept.
    places: Vec<Place<S>>,
    keeps_places: bool,
    keeps_limits: bool,
    is_sorted: bool,
    not_numbers: i64,
    skipped: i64,
    counted_units: Names,
    counted_paths: Names,
    /// Those of the values of the last result.
    last_limits: Vec<(Place<S>, Limits)>,
    limits_vary: bool,
}

/// The values of a series.
#[derive(Clone, Debug)]
pub(crate) struct Values<S> {
    /// In order, if their places were kept.
    pub numbers: Vec<f64>,
    /// The place of each number; none if they were not kept.
    pub places: Vec<Place<S>>,
    pub limits: Limits,
    /// Whether the limits are those of the last value, and others differ.
    pub limits_vary: bool,
    /// Texts, NaN and infinities.
    pub not_numbers: i64,
    /// Measurements of skipped steps.
    pub skipped: i64,
}

impl<S: Ord + Copy> Series<S> {
    /// The series of a request.
    ///
    /// # Errors
    /// `InvalidArgument` for limits that are none.
    pub(crate) fn of_request(selection: &SeriesSelection<'_>) -> Result<Self> {
        let limits = Limits::of_request(selection.low_limit, selection.high_limit)?;
        Ok(Self::new(selection.units, selection.takes_any_path(), limits))
    }

    /// A series of values with these units, of all if there are none; `any_path` if the paths of
    /// the values may differ.
    pub(crate) fn new(units: Option<&str>, any_path: bool, limits: Option<Limits>) -> Self {
        Self {
            units: units.map(str::to_owned),
            any_path,
            limits,
            numbers: Vec::new(),
            places: Vec::new(),
            keeps_places: true,
            keeps_limits: limits.is_none(),
            is_sorted: true,
            not_numbers: 0,
            skipped: 0,
            counted_units: Names::default(),
            counted_paths: Names::default(),
            last_limits: Vec::new(),
            limits_vary: false,
        }
    }

    /// The series, with the order of the values and with their limits only if these are needed.
    #[must_use]
    pub(crate) fn keeping(mut self, places: bool, limits: bool) -> Self {
        self.keeps_places = places;
        self.keeps_limits &= limits;
        self
    }

    /// Adds a measurement.
    ///
    /// # Errors
    /// `LimitExceeded` for too many paths or units.
    pub(crate) fn add(&mut self, measured: &Measured<'_, S>) -> Result<()> {
        let units = measured.units.unwrap_or_default();
        if self.units.as_ref().is_some_and(|wanted| *wanted != units) {
            return Ok(());
        }
        if measured.is_skipped {
            self.skipped += 1;
            return Ok(());
        }
        let Some(value) = measured.value.filter(|value| value.is_finite()) else {
            self.not_numbers += 1;
            return Ok(());
        };
        if self.units.is_none() {
            self.counted_units.count(units).map_err(|error| error.at_member("units"))?;
        }
        if !self.any_path {
            self.counted_paths.count(measured.path).map_err(|error| error.at_member("path"))?;
        }
        self.numbers.push(value);
        if self.keeps_places {
            self.is_sorted &= self.places.last().is_none_or(|last| *last <= measured.at);
            self.places.push(measured.at);
        }
        if self.keeps_limits {
            self.keep_limits(measured);
        }
        Ok(())
    }

    /// Keeps the limits of a value if it may be the last one.
    fn keep_limits(&mut self, measured: &Measured<'_, S>) {
        let at = measured.at;
        let known = self.last_limits.first();
        self.limits_vary |= known.is_some_and(|(_, limits)| *limits != measured.limits);
        let result = |at: &Place<S>| (at.started_at_ms, at.result_id);
        let order = known.map(|(last, _)| result(last).cmp(&result(&at)));
        if order != Some(Ordering::Equal) && order != Some(Ordering::Greater) {
            self.last_limits.clear();
        }
        if order != Some(Ordering::Greater) {
            self.last_limits.push((at, measured.limits));
        }
    }

    /// Bytes that the values need.
    pub(crate) fn bytes(&self) -> usize {
        self.numbers.capacity() * size_of::<f64>()
            + self.places.capacity() * size_of::<Place<S>>()
            + self.last_limits.capacity() * size_of::<(Place<S>, Limits)>()
    }

    /// The places of the values, in order.
    pub(crate) fn sorted_places(&mut self) -> impl Iterator<Item = Place<S>> {
        self.sort();
        self.places.iter().copied()
    }

    /// Changes the steps of places.
    pub(crate) fn place_steps(&mut self, mut change: impl FnMut(&mut Place<S>)) {
        self.is_sorted = false;
        self.places.iter_mut().for_each(&mut change);
        self.last_limits.iter_mut().for_each(|(at, _)| change(at));
    }

    fn sort(&mut self) {
        if !std::mem::replace(&mut self.is_sorted, true) {
            let places = std::mem::take(&mut self.places);
            let mut points: Vec<_> = places.into_iter().zip(self.numbers.drain(..)).collect();
            points.sort_unstable_by_key(|(at, _)| *at);
            (self.places, self.numbers) = points.into_iter().unzip();
        }
    }

    /// The values in order.
    ///
    /// # Errors
    /// `InvalidArgument` for values of several units, or of several paths, that the request does
    /// not choose from.
    pub(crate) fn finish(mut self) -> Result<Values<S>> {
        self.counted_units.check("units", "name one of them, \"\" for none")?;
        self.counted_paths.check("path", "name a path or stepName, or set anyPath")?;
        self.sort();
        let last = self.last_limits.iter().max_by_key(|(at, _)| *at).map(|(_, limits)| *limits);
        Ok(Values {
            numbers: self.numbers,
            places: self.places,
            limits: self.limits.or(last).unwrap_or_default(),
            limits_vary: self.limits.is_none() && self.limits_vary,
            not_numbers: self.not_numbers,
            skipped: self.skipped,
        })
    }
}

impl<S> Values<S> {
    /// The numbers in order.
    pub(crate) fn numbers(&self) -> impl ExactSizeIterator<Item = f64> {
        self.numbers.iter().copied()
    }
}

/// Different texts, and how often they came.
#[derive(Debug, Default)]
struct Names {
    last: String,
    last_count: i64,
    counts: HashMap<String, i64>,
}

impl Names {
    fn count(&mut self, name: &str) -> Result<()> {
        // Most often it is the one before.
        if self.last_count > 0 && self.last == name {
            self.last_count += 1;
            return Ok(());
        }
        self.keep();
        if self.counts.len() > limits::AGGREGATE_GROUPS {
            return Err(Error::limit(format!(
                "more than {0} different ones; AGGREGATE_GROUPS allows {0}: name one",
                limits::AGGREGATE_GROUPS
            ))
            .with_args([limits::AGGREGATE_GROUPS.to_string()]));
        }
        self.last.clear();
        self.last.push_str(name);
        self.last_count = 1;
        Ok(())
    }

    fn keep(&mut self) {
        if self.last_count == 0 {
            return;
        }
        match self.counts.get_mut(&self.last) {
            Some(count) => *count += self.last_count,
            None => {
                self.counts.insert(self.last.clone(), self.last_count);
            }
        }
        self.last_count = 0;
    }

    /// Refuses more than one.
    fn check(&mut self, member: &str, advice: &str) -> Result<()> {
        self.keep();
        if self.counts.len() <= 1 {
            return Ok(());
        }
        let mut counts: Vec<(String, i64)> = self.counts.drain().collect();
        counts.sort_unstable_by(|(left, left_count), (right, right_count)| {
            right_count.cmp(left_count).then_with(|| left.cmp(right))
        });
        let number = counts.len();
        let mut text = format!("the values are of {number} different {member}: ");
        for (at, (name, count)) in counts.iter().take(NAMED).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            // A String takes everything.
            let _ = write!(text, "{comma}{name:?} ({count})");
        }
        if number > NAMED {
            let _ = write!(text, " and {} more", number - NAMED);
        }
        let _ = write!(text, "; {advice}");
        Err(Error::invalid(text)
            .with_args(counts.into_iter().take(NAMED).map(|(name, _)| name))
            .at_member(member))
    }
}
