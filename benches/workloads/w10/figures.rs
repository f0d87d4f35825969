//! The figures of W10, compared with a naive pass over the rows.

use serde_json::Value;
use stationdb::prelude::*;
use stationdb::results::{
    CapabilityRequest, ChartPoint, ChartRule, ControlChartRequest, FailureParetoRequest,
    HistogramRequest, ParetoKey, YieldsRequest,
};
use stationdb::{Control, Session};

use super::answers::{self, BINS};
use super::rows::{Rows, limits, measurement_name, moment};
use crate::common::Res;

/// Points of a chart on one page.
const POINTS: usize = 100_000;

/// The figures that are asked for.
pub struct Figures {
    name: String,
    yields: Vec<(i64, u64, u64)>,
    pareto: Vec<(Option<String>, u64)>,
    capability: Value,
    histogram: Value,
    chart: Value,
}

fn assert_near(found: Option<f64>, wanted: &Value) {
    let (found, wanted) = (found.unwrap_or(f64::NAN), wanted.as_f64().unwrap_or(f64::NAN));
    let reach = 1e-9 * wanted.abs().max(1e-3);
    assert!((found - wanted).abs() <= reach, "{found} instead of {wanted}");
}

impl Figures {
    pub fn new(rows: &Rows) -> Self {
        let values = answers::values(rows);
        Self {
            name: measurement_name(rows.asked_step()),
            yields: answers::yield_by_week(rows),
            pareto: answers::pareto(rows),
            capability: answers::capability(&values, limits(rows.asked_step())),
            histogram: answers::histogram(&values),
            chart: answers::control_chart(&values),
        }
    }

    pub fn assert_yields(&self, session: &Session) -> Res<()> {
        let request = YieldsRequest::new().group_by(["WEEK"]);
        let groups = session.yields(request, &Control::default())?.groups;
        // Of a unit whose first result started in an earlier week, only retests are in a week.
        let groups: Vec<_> = groups.into_iter().filter(|group| group.first_units > 0).collect();
        assert_eq!(groups.len(), self.yields.len());
        for (group, (week, units, good)) in groups.iter().zip(&self.yields) {
            let text =
                moment(*week).to_rfc3339_opts(stationdb::chrono::SecondsFormat::Millis, true);
            assert_eq!(group.keys, [Some(text)]);
            assert_eq!(group.first_units, *units as i64);
            assert_near(group.first_pass_yield, &(*good as f64 / *units as f64).into());
        }
        Ok(())
    }

    pub fn assert_pareto(&self, session: &Session) -> Res<()> {
        let request = FailureParetoRequest::new().take(1_000);
        let entries = session.failure_pareto(request, &Control::default())?.entries;
        let path = |key: Option<ParetoKey>| match key {
            Some(ParetoKey::Text(path)) => Some(path),
            _ => None,
        };
        let found: Vec<_> =
            entries.into_iter().map(|entry| (path(entry.key), entry.count as u64)).collect();
        assert_eq!(found, self.pareto);
        Ok(())
    }

    pub fn assert_capability(&self, session: &Session) -> Res<()> {
        let request = CapabilityRequest::new(&self.name);
        let found = session.capability(request, &Control::default())?;
        let wanted = &self.capability;
        assert_eq!(wanted["n"], found.n);
        for (found, member) in [
            (found.mean, "mean"),
            (found.overall_deviation, "overallDeviation"),
            (found.within_deviation, "withinDeviation"),
            (found.cp, "cp"),
            (found.cpk, "cpk"),
            (found.pp, "pp"),
            (found.ppk, "ppk"),
        ] {
            assert_near(found, &wanted[member]);
        }
        Ok(())
    }

    pub fn assert_histogram(&self, session: &Session) -> Res<()> {
        let request = HistogramRequest::new(&self.name).bins(BINS as i64);
        let found = session.histogram(request, &Control::default())?;
        let counts: Vec<i64> = found.ranges.iter().map(|range| range.count).collect();
        assert_eq!(self.histogram["counts"], Value::from(counts));
        assert_near(found.minimum, &self.histogram["lower"]);
        assert_near(found.maximum, &self.histogram["upper"]);
        Ok(())
    }

    pub fn assert_chart(&self, session: &Session) -> Res<()> {
        let request = ControlChartRequest::new(&self.name).take(POINTS as i64);
        let found = session.control_chart(request, &Control::default())?;
        let wanted = &self.chart;
        assert_near(found.limits.center, &wanted["center"]);
        assert_near(found.limits.lower, &wanted["lower"]);
        assert_near(found.limits.upper, &wanted["upper"]);
        if found.continuation_token.is_some() {
            assert_eq!(found.points.len(), POINTS);
            return Ok(());
        }
        // The rule is told where the range is beyond its limits, too.
        let (lower, upper) = (found.limits.lower, found.limits.upper);
        let is_beyond = |point: &&ChartPoint| {
            lower.is_some_and(|lower| point.value < lower)
                || upper.is_some_and(|upper| point.value > upper)
        };
        let beyond: Vec<&ChartPoint> = found.points.iter().filter(is_beyond).collect();
        assert!(beyond.iter().all(|point| point.rules.contains(&ChartRule::Beyond)));
        assert_eq!(wanted["beyond"], beyond.len());
        let runs = found.points.iter().filter(|point| point.rules.contains(&ChartRule::Run));
        assert_eq!(wanted["run"], runs.count());
        Ok(())
    }
}
