//! Failures counted by the steps that failed.

use std::collections::HashMap;

use super::groups::nulls_last;
use super::numbers::share;
use crate::error::{Error, Result};
use crate::model::results::figures::{
    FailurePareto, MeasurementKey, ParetoBasis, ParetoBy, ParetoEntry, ParetoKey, ParetoOthers,
};
use crate::value::limits;

/// A step of a failing result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepFact<'a> {
    /// The place of its parent among the steps of the result; none at the top, and where the parent
    /// is not there.
    pub parent: Option<usize>,
    pub path: &'a str,
    pub name: &'a str,
    pub step_type: Option<&'a str>,
    /// Whether its status is bad.
    pub is_bad: bool,
    /// The name of its first measurement that failed.
    pub failed_measurement: Option<&'a str>,
}

/// Whether the text of a measurement's status says that it failed.
pub(crate) fn is_failed(status: &str) -> bool {
    status.eq_ignore_ascii_case("failed")
}

/// What a failure is told by: two texts, of which only measurements have the second.
type Key = Option<(String, Option<String>)>;

/// Takes failing results, in any order.
#[derive(Debug)]
pub(crate) struct FailureCounts {
    basis: ParetoBasis,
    by: ParetoBy,
    results: i64,
    counts: HashMap<Key, i64>,
    /// Steps of the result with a bad descendant.
    marks: Vec<bool>,
}

impl FailureCounts {
    pub(crate) fn new(basis: ParetoBasis, by: ParetoBy) -> Self {
        Self { basis, by, results: 0, counts: HashMap::new(), marks: Vec::new() }
    }

    fn key(&self, step: &StepFact<'_>) -> Key {
        match self.by {
            ParetoBy::Path => Some((step.path.to_owned(), None)),
            ParetoBy::Name => Some((step.name.to_owned(), None)),
            ParetoBy::StepType => Some((step.step_type?.to_owned(), None)),
            ParetoBy::Measurement => {
                Some((step.path.to_owned(), step.failed_measurement.map(str::to_owned)))
            }
        }
    }

    fn count(&mut self, key: Key) -> Result<()> {
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1;
            return Ok(());
        }
        if self.counts.len() >= limits::AGGREGATE_GROUPS {
            return Err(Error::limit(format!(
                "more than {0} different failures; AGGREGATE_GROUPS allows {0}: count them by \
                 STEP_TYPE or NAME, or filter the results",
                limits::AGGREGATE_GROUPS
            ))
            .with_args([limits::AGGREGATE_GROUPS.to_string()])
            .at_member("by"));
        }
        self.counts.insert(key, 1);
        Ok(())
    }

    /// Adds a failing result with its steps in step order.
    ///
    /// # Errors
    /// `LimitExceeded` for too many keys.
    pub(crate) fn add(&mut self, steps: &[StepFact<'_>]) -> Result<()> {
        self.results += 1;
        let mut marks = std::mem::take(&mut self.marks);
        mark_ancestors(steps, &mut marks);
        let mut failing =
            steps.iter().zip(&marks).filter(|(step, mark)| step.is_bad && !**mark).peekable();
        let outcome = match self.basis {
            _ if failing.peek().is_none() => self.count(None),
            ParetoBasis::First => {
                failing.next().map_or(Ok(()), |(step, _)| self.count(self.key(step)))
            }
            ParetoBasis::All => {
                let mut keys: Vec<Key> = failing.map(|(step, _)| self.key(step)).collect();
                keys.sort_unstable();
                keys.dedup();
                keys.into_iter().try_for_each(|key| self.count(key))
            }
        };
        self.marks = marks;
        outcome
    }

    /// The failures of all results that were added, at most `take` keys.
    pub(crate) fn finish(self, take: Option<usize>) -> FailurePareto {
        let by = self.by;
        let total: i64 = self.counts.values().sum();
        let mut counts: Vec<(Key, i64)> = self.counts.into_iter().collect();
        counts.sort_unstable_by(|(left, left_count), (right, right_count)| {
            right_count.cmp(left_count).then_with(|| in_order(left, right))
        });
        let rest = counts.split_off(take.unwrap_or(usize::MAX).min(counts.len()));
        let mut sum = 0;
        let entries = counts.into_iter().map(|(key, count)| {
            sum += count;
            ParetoEntry {
                key: key.map(|(text, measurement)| match by {
                    ParetoBy::Measurement => {
                        ParetoKey::Measurement(MeasurementKey { path: text, measurement })
                    }
                    ParetoBy::Path | ParetoBy::Name | ParetoBy::StepType => ParetoKey::Text(text),
                }),
                count,
                fraction: share(count, total),
                cumulative: share(sum, total),
            }
        });
        let entries = entries.collect();
        let count: i64 = rest.iter().map(|(_, count)| count).sum();
        let others = || ParetoOthers {
            keys: rest.len().cast_signed() as i64,
            count,
            fraction: share(count, total),
        };
        let others = (!rest.is_empty()).then(others);
        FailurePareto { entries, others, total, results: self.results, ..FailurePareto::default() }
    }
}

/// Ascending by the texts of the keys, nulls last.
fn in_order(left: &Key, right: &Key) -> std::cmp::Ordering {
    match (left, right) {
        (Some((left, left_measurement)), Some((right, right_measurement))) => left
            .cmp(right)
            .then_with(|| nulls_last(left_measurement.as_ref(), right_measurement.as_ref())),
        _ => left.is_none().cmp(&right.is_none()),
    }
}

/// Marks the steps with a bad descendant.
fn mark_ancestors(steps: &[StepFact<'_>], marks: &mut Vec<bool>) {
    marks.clear();
    marks.resize(steps.len(), false);
    for step in steps.iter().filter(|step| step.is_bad) {
        let mut parent = step.parent;
        // The ancestors of one that is marked are, too.
        while let Some(at) = parent
            && let Some(mark) = marks.get_mut(at)
            && !*mark
        {
            *mark = true;
            parent = steps.get(at).and_then(|step| step.parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::services::results::figures::random::Random;

    fn step(parent: Option<usize>, path: &'static str, is_bad: bool) -> StepFact<'static> {
        StepFact {
            parent,
            path,
            name: path.rsplit('\n').next().unwrap(),
            step_type: None,
            is_bad,
            failed_measurement: None,
        }
    }

    fn texts(pareto: &FailurePareto) -> Vec<(Option<&str>, i64)> {
        let text = |entry: &ParetoEntry| match &entry.key {
            Some(ParetoKey::Text(text)) => Some(text.clone().leak() as &str),
            Some(ParetoKey::Measurement(key)) => {
                let measurement = key.measurement.as_deref().unwrap_or("-");
                Some(format!("{}/{measurement}", key.path).leak() as &str)
            }
            None => None,
        };
        pareto.entries.iter().map(|entry| (text(entry), entry.count)).collect()
    }

    fn near(value: Option<f64>, expected: f64) {
        let value = value.unwrap();
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    fn example() -> FailureCounts {
        let mut counts = FailureCounts::new(ParetoBasis::First, ParetoBy::Path);
        for (path, times) in [("C", 2), ("A", 4), ("B", 2)] {
            for _ in 0..times {
                counts.add(&[step(None, path, true)]).unwrap();
            }
        }
        counts.add(&[step(None, "D", false)]).unwrap();
        counts
    }

    #[test]
    fn the_example_of_four_keys() {
        let pareto = example().finish(None);
        assert_eq!(texts(&pareto), [(Some("A"), 4), (Some("B"), 2), (Some("C"), 2), (None, 1)]);
        let expected = [
            (0.444_444_444, 0.444_444_444),
            (0.222_222_222, 0.666_666_667),
            (0.222_222_222, 0.888_888_889),
            (0.111_111_111, 1.0),
        ];
        for (entry, (fraction, cumulative)) in pareto.entries.iter().zip(expected) {
            near(entry.fraction, fraction);
            near(entry.cumulative, cumulative);
        }
        assert_eq!(pareto.entries[3].cumulative, Some(1.0));
        assert_eq!((pareto.total, pareto.results, pareto.others), (9, 9, None));
    }

    #[test]
    fn what_is_cut_is_counted() {
        let pareto = example().finish(Some(2));
        assert_eq!(texts(&pareto), [(Some("A"), 4), (Some("B"), 2)]);
        let others = pareto.others.unwrap();
        assert_eq!((others.keys, others.count, others.fraction), (2, 3, Some(3.0 / 9.0)));
        assert_eq!(pareto.total, 9);
        assert_eq!(example().finish(Some(0)).others.unwrap().count, 9);
        assert_eq!(example().finish(Some(4)).others, None);
        let nothing = FailureCounts::new(ParetoBasis::All, ParetoBy::Name).finish(None);
        assert_eq!(nothing, FailurePareto::default());
    }

    #[test]
    fn the_lowest_bad_steps_are_the_failing_ones() {
        // A sequence that failed by its second step, and a step that failed itself.
        let steps = [
            step(None, "S", true),
            step(Some(0), "S\na", false),
            step(Some(0), "S\nb", true),
            step(Some(2), "S\nb\nc", false),
            step(None, "T", true),
            step(None, "b", true),
        ];
        let of = |basis, by| {
            let mut counts = FailureCounts::new(basis, by);
            counts.add(&steps).unwrap();
            counts.finish(None)
        };
        assert_eq!(texts(&of(ParetoBasis::First, ParetoBy::Path)), [(Some("S\nb"), 1)]);
        assert_eq!(
            texts(&of(ParetoBasis::All, ParetoBy::Path)),
            [(Some("S\nb"), 1), (Some("T"), 1), (Some("b"), 1)]
        );
        // The two steps of one name are one key of the result.
        assert_eq!(texts(&of(ParetoBasis::All, ParetoBy::Name)), [(Some("T"), 1), (Some("b"), 1)]);
        // No type.
        assert_eq!(texts(&of(ParetoBasis::All, ParetoBy::StepType)), [(None, 1)]);
    }

    #[test]
    fn measurements_that_failed_are_keys() {
        let mut counts = FailureCounts::new(ParetoBasis::All, ParetoBy::Measurement);
        let failed =
            |path, failed_measurement| StepFact { failed_measurement, ..step(None, path, true) };
        counts.add(&[failed("A", Some("y")), failed("A", None), failed("A", Some("x"))]).unwrap();
        counts.add(&[failed("A", Some("x"))]).unwrap();
        counts.add(&[]).unwrap();
        let pareto = counts.finish(None);
        assert_eq!(
            texts(&pareto),
            [(Some("A/x"), 2), (Some("A/y"), 1), (Some("A/-"), 1), (None, 1)]
        );
        assert_eq!((pareto.total, pareto.results), (5, 3));
        assert!(is_failed("Failed") && is_failed("FAILED") && !is_failed("Failed "));
    }

    #[test]
    fn parents_in_a_circle_end() {
        let steps = [step(Some(1), "a", true), step(Some(0), "b", true), step(Some(9), "c", true)];
        let mut counts = FailureCounts::new(ParetoBasis::All, ParetoBy::Path);
        counts.add(&steps).unwrap();
        assert_eq!(texts(&counts.finish(None)), [(Some("c"), 1)]);
    }

    #[test]
    fn failing_steps_are_those_of_the_definition() {
        let mut random = Random::new(5);
        let paths = ["a", "b", "c", "d"];
        for round in 0..300 {
            let mut first = FailureCounts::new(ParetoBasis::First, ParetoBy::Path);
            let mut all = FailureCounts::new(ParetoBasis::All, ParetoBy::Path);
            let mut expected: [HashMap<Option<&str>, i64>; 2] = Default::default();
            for _ in 0..random.below(12) {
                let mut steps: Vec<StepFact<'_>> = Vec::new();
                for at in 0..random.below(10) {
                    let parent = (at > 0 && random.below(4) > 0).then(|| random.below(at) as usize);
                    steps.push(step(parent, random.of(&paths), random.below(3) == 0));
                }
                first.add(&steps).unwrap();
                all.add(&steps).unwrap();
                let is_below = |below: usize, above: usize| {
                    let mut parent = steps[below].parent;
                    while let Some(at) = parent {
                        if at == above {
                            return true;
                        }
                        parent = steps[at].parent;
                    }
                    false
                };
                let failing: Vec<&str> = (0..steps.len())
                    .filter(|at| steps[*at].is_bad)
                    .filter(|at| {
                        !(0..steps.len()).any(|other| steps[other].is_bad && is_below(other, *at))
                    })
                    .map(|at| steps[at].path)
                    .collect();
                *expected[0].entry(failing.first().copied()).or_default() += 1;
                let mut keys: BTreeSet<Option<&str>> = failing.into_iter().map(Some).collect();
                if keys.is_empty() {
                    keys.insert(None);
                }
                for key in keys {
                    *expected[1].entry(key).or_default() += 1;
                }
            }
            for (counts, expected) in [first, all].into_iter().zip(expected) {
                let pareto = counts.finish(None);
                let found: HashMap<Option<&str>, i64> = texts(&pareto).into_iter().collect();
                assert_eq!(found, expected, "round {round}");
                assert!(pareto.entries.is_sorted_by(|left, right| left.count >= right.count));
            }
        }
    }
}
