//! Test results, their steps, and the requests of both.

pub(crate) mod figure_requests;
pub(crate) mod figures;
pub(crate) mod path;
pub(crate) mod requests;
pub(crate) mod result;
#[cfg(test)]
mod result_tests;
pub(crate) mod retention;
pub(crate) mod scan_requests;
pub(crate) mod status;
pub(crate) mod step;
pub(crate) mod step_requests;
#[cfg(test)]
mod step_tests;
pub(crate) mod with_steps;

pub use figure_requests::{
    CapabilityRequest, ControlChartRequest, FailureParetoRequest, GageRequest, HistogramRequest,
    YieldsRequest,
};
pub use figures::{
    Capability, ChartPoint, ChartRule, ChartType, ControlChart, ControlLimits, FailurePareto,
    FigureClass, GageStudy, Histogram, HistogramRange, MeasurementKey, ParetoBasis, ParetoBy,
    ParetoEntry, ParetoKey, ParetoOthers, ProgramYield, ResultGroup, RetestScope, RolledYield,
    SeriesPass, WithinMethod, YieldGroup, Yields, ZeroDeviation,
};
pub use path::{
    PagedPaths, PathMeasurement, PathOrderBy, PathProjection, PathValue, PathValueType,
    QueryPathsRequest, StepPath,
};
pub use requests::{
    CreateResultsPartialSuccess, DeleteResultsPartialSuccess, OrderByComparisonType, PagedResults,
    QueryResultValuesRequest, QueryResultsRequest, ResponseFormat, TestMonitorApiInfo,
    TestMonitorOperations, UpdateResultsPartialSuccess,
};
pub use result::{
    CreateResultRequest, ResultField, ResultOrderBy, ResultProjection, TestResult, TestResultId,
    UpdateResultRequest,
};
pub use retention::{KeepResults, ResultRetention, ResultRetentionReport};
pub use scan_requests::{ScanMeasurementsRequest, ScanStepsRequest};
pub use status::{Status, StatusType, StatusTypeSummary};
pub use step::{
    CreateStepRequest, NamedValue, Step, StepData, StepField, StepOrderBy, StepProjection,
    UpdateStepRequest,
};
pub use step_requests::{
    CreateStepsPartialSuccess, DeleteStepsPartialSuccess, PagedSteps, QueryStepValuesRequest,
    QueryStepsRequest, StepIdResultIdPair, UpdateStepsPartialSuccess,
};
pub use with_steps::{ResultTable, ResultWithSteps};
