//! Scalar values and their common rules: order, null and NaN, key bytes, ids, time, limits,
//! spelling.
//!
//! Nothing here knows a resource, a file or an engine. What must hold: the byte order of [`key`]
//! equals the order of [`Val`], and every bound of the crate is a constant in [`limits`].

pub(crate) mod absent;
pub(crate) mod access;
pub(crate) mod argument;
pub(crate) mod budget;
pub mod byte_reader;
pub(crate) mod cache;
pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod exact;
pub(crate) mod field;
mod guard;
pub(crate) mod id;
mod ignored;
pub(crate) mod key;
pub(crate) mod latency;
pub mod limits;
mod located;
pub(crate) mod nearest;
pub(crate) mod nested;
pub(crate) mod number;
pub(crate) mod part;
pub(crate) mod patch;
pub(crate) mod pattern;
pub(crate) mod planned_time;
pub(crate) mod query;
pub(crate) mod ranges;
pub(crate) mod stored;
pub(crate) mod strict;
pub(crate) mod time;
pub(crate) mod trace;
pub(crate) mod val;
pub(crate) mod wire;
pub(crate) mod work;

pub use absent::Absent;
pub use access::{Action, Service};
pub use clock::{Clock, ManualClock, SystemClock};
pub use control::{Control, Progress};
pub(crate) use field::{Env, FieldDecl, FieldType, Ops};
pub(crate) use guard::{drop_guarded, guarded};
pub(crate) use id::{IdForm, Kind, RecordKey};
pub(crate) use latency::Latencies;
pub use latency::LatencyStatus;
pub use number::Number;
pub use patch::Patch;
pub use planned_time::PlannedTime;
pub(crate) use stored::Stored;
pub(crate) use val::{Pairs, Row, Val};
pub(crate) use work::Work;
