//! The pages in real browsers without a window. Skipped, with a message, where none is installed.

mod checks;
mod compared;
mod driver;
mod figures;
mod hands;
mod levels;
mod looks;
mod old;
mod pictures;
mod plot;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod speed;
mod stores;
mod texts;
mod ugly;
