//! Scalar values and their common rules: order, null and NaN, key bytes, ids, time, limits,
//! spelling.
//!
//! Nothing here knows a resource, a file or an engine. What must hold: the byte order of [`key`]
//! equals the order of [`Val`], and every bound of the crate is a constant in [`limits`].

pub mod access;
pub(crate) mod cache;
pub mod clock;
pub mod control;
pub mod field;
mod guard;
pub mod id;
pub mod key;
pub mod limits;
pub mod number;
pub mod part;
pub mod patch;
pub mod planned_time;
pub mod query;
pub mod stored;
pub mod time;
pub mod val;
pub mod wire;
pub mod work;

pub use access::{Action, Service};
pub use clock::{Clock, ManualClock, SystemClock};
pub use control::{Control, Progress};
pub use field::{Env, FieldDecl, FieldType, Ops};
pub(crate) use guard::{drop_guarded, guarded};
pub use id::{IdForm, Kind, RecordKey};
pub use number::Number;
pub use patch::Patch;
pub use planned_time::PlannedTime;
pub use stored::Stored;
pub use val::{Row, Val};
pub use work::Work;
