//! What the imports of results have in common: their options and reports, and the one commit in
//! which the results of a file become durable.
//!
//! The file is attached to each of its results, and a property with its SHA-256 tells whether it
//! was imported before.

mod clock;
pub(crate) mod commit;
pub(crate) mod file;
mod limits;
mod loops;
mod options;
pub(crate) mod parameter;
mod report;
mod row;
mod status;
pub(crate) mod step;
pub(crate) mod text;
mod told;
pub(crate) mod whole;

pub(crate) use clock::Clock;
pub(crate) use limits::{LimitTexts, limit_entries};
pub(crate) use loops::{LoopPart, nest};
pub use options::ResultOptions;
pub use report::ResultsReport;
pub(crate) use row::ResultFile;
pub(crate) use status::{outcome_status, sequencer_status};
pub(crate) use told::Told;
