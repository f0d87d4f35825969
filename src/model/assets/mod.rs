//! Assets, their identity, calibration, location and utilization.

pub(crate) mod asset;
#[cfg(test)]
mod asset_tests;
pub(crate) mod calibration;
#[cfg(test)]
mod calibration_tests;
mod change;
pub(crate) mod identity;
pub(crate) mod parts;
pub(crate) mod requests;
pub(crate) mod utilization;
pub(crate) mod utilization_requests;
#[cfg(test)]
mod utilization_tests;
pub(crate) mod vendor;

pub use asset::*;
pub(crate) use identity::Identity as AssetIdentity;
pub use identity::*;
pub use parts::*;
pub use requests::*;
pub use utilization::*;
pub use utilization_requests::*;
pub use vendor::*;
