//! When work may and should happen (timeline), and when it is scheduled (schedule).

use chrono::{DateTime, Utc};

use crate::value::PlannedTime;
use crate::value::wire::record;

record! {
    /// When the work may start, when it is due, how long it takes.
    #[patch(TimelinePatch = "An update of a timeline.")]
    #[patch(TimelinePatch(earliest_start_date_time, due_date_time, estimated_duration_in_seconds))]
    pub struct TimelineDefinition new() {
        /// Earliest start.
        pub earliest_start_date_time: Option<DateTime<Utc>>,
        /// Due date.
        pub due_date_time: Option<DateTime<Utc>>,
        /// Estimated duration.
        pub estimated_duration_in_seconds: Option<i64>,
    }

    /// The timeline of a template: an estimate.
    #[patch(TemplateTimelinePatch = "An update of the timeline of a template.")]
    #[patch(TemplateTimelinePatch(estimated_duration_in_seconds))]
    pub struct TemplateTimelineDefinition new() {
        /// Estimated duration of the work items of the template.
        pub estimated_duration_in_seconds: Option<i64>,
    }

    /// When the work is scheduled.
    #[patch(SchedulePatch = "An update of a schedule.")]
    #[patch(SchedulePatch(
        planned_start_date_time,
        planned_end_date_time,
        planned_duration_in_seconds
    ))]
    pub struct ScheduleDefinition new() {
        /// Start; returned without an offset if it was sent without one.
        pub planned_start_date_time: Option<PlannedTime>,
        /// End; returned without an offset if it was sent without one.
        pub planned_end_date_time: Option<PlannedTime>,
        /// Duration; not computed from start and end.
        pub planned_duration_in_seconds: Option<i64>,
    }
}
