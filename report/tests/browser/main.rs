//! The pages in real browsers without a window. Skipped, with a message, where none is installed.

mod driver;
mod hands;
mod looks;
mod old;
mod pictures;
mod plot;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod speed;
mod stores;
mod texts;
