//! When work may and should happen (timeline), and when it is planned to (schedule).

use chrono::{DateTime, Utc};

use crate::value::Patch;
use crate::value::wire::record;

record! {
    /// When the work may start, when it is due, how long it takes.
    pub struct TimelineDefinition new() {
        /// Not before.
        #[serde(with = "crate::value::time::opt")]
        pub earliest_start_date_time: Option<DateTime<Utc>>,
        /// To be closed by.
        #[serde(with = "crate::value::time::opt")]
        pub due_date_time: Option<DateTime<Utc>>,
        /// Estimate.
        pub estimated_duration_in_seconds: Option<i64>,
    }

    /// What an update changes in a timeline.
    patch pub struct TimelinePatch new() {
        /// Not before.
        #[serde(with = "crate::value::time::patch")]
        pub earliest_start_date_time: Patch<DateTime<Utc>>,
        /// To be closed by.
        #[serde(with = "crate::value::time::patch")]
        pub due_date_time: Patch<DateTime<Utc>>,
        /// Estimate.
        pub estimated_duration_in_seconds: Patch<i64>,
    }

    /// The timeline of a template: an estimate.
    pub struct TemplateTimelineDefinition new() {
        /// Estimate for the work items made from the template.
        pub estimated_duration_in_seconds: Option<i64>,
    }

    /// What an update changes in the timeline of a template.
    patch pub struct TemplateTimelinePatch new() {
        /// Estimate for the work items made from the template.
        pub estimated_duration_in_seconds: Patch<i64>,
    }

    /// When the work is planned.
    pub struct ScheduleDefinition new() {
        /// Start.
        #[serde(with = "crate::value::time::opt")]
        pub planned_start_date_time: Option<DateTime<Utc>>,
        /// End.
        #[serde(with = "crate::value::time::opt")]
        pub planned_end_date_time: Option<DateTime<Utc>>,
        /// Duration; not derived from start and end.
        pub planned_duration_in_seconds: Option<i64>,
    }

    /// What scheduling changes in a schedule.
    patch pub struct SchedulePatch new() {
        /// Start.
        #[serde(with = "crate::value::time::patch")]
        pub planned_start_date_time: Patch<DateTime<Utc>>,
        /// End.
        #[serde(with = "crate::value::time::patch")]
        pub planned_end_date_time: Patch<DateTime<Utc>>,
        /// Duration.
        pub planned_duration_in_seconds: Patch<i64>,
    }
}

fn given<T>(value: Option<T>) -> Patch<T> {
    value.map_or(Patch::Absent, Patch::Value)
}

impl From<TimelineDefinition> for TimelinePatch {
    fn from(timeline: TimelineDefinition) -> Self {
        Self {
            earliest_start_date_time: given(timeline.earliest_start_date_time),
            due_date_time: given(timeline.due_date_time),
            estimated_duration_in_seconds: given(timeline.estimated_duration_in_seconds),
        }
    }
}

impl From<TemplateTimelineDefinition> for TemplateTimelinePatch {
    fn from(timeline: TemplateTimelineDefinition) -> Self {
        Self { estimated_duration_in_seconds: given(timeline.estimated_duration_in_seconds) }
    }
}

impl From<ScheduleDefinition> for SchedulePatch {
    fn from(schedule: ScheduleDefinition) -> Self {
        Self {
            planned_start_date_time: given(schedule.planned_start_date_time),
            planned_end_date_time: given(schedule.planned_end_date_time),
            planned_duration_in_seconds: given(schedule.planned_duration_in_seconds),
        }
    }
}
