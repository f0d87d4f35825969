//! The pages in a real browser without a window. Skipped, with a message, where none is installed.

mod driver;
mod pictures;
mod plot;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod speed;
mod stores;
