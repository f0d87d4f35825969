//! Progress bars of long work, on a terminal alone.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use stationdb::{Control, Progress};

/// The bar of one work; it disappears when this is dropped.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar, and the control that moves it. `total` is used where the work itself reports none.
    pub fn new(control: Control, what: &'static str, total: Option<u64>) -> (Self, Control) {
        if !std::io::stderr().is_terminal() {
            return (Self(ProgressBar::hidden()), control);
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        // Short work shows no bar.
        bar.enable_steady_tick(Duration::from_millis(150));
        let moved = bar.clone();
        let control = control.with_progress(move |progress: Progress| {
            show(&moved, progress, progress.total.or(total));
        });
        (Self(bar), control)
    }
}

fn show(bar: &ProgressBar, progress: Progress, total: Option<u64>) {
    if bar.length() != total {
        match total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        let template = match (total, progress.unit) {
            (Some(_), "bytes") => "{msg} [{bar:30}] {bytes}/{total_bytes} {eta}",
            (Some(_), _) => "{msg} [{bar:30}] {human_pos}/{human_len} {eta}",
            (None, "bytes") => "{msg} {spinner} {bytes}",
            (None, _) => "{msg} {spinner} {human_pos}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
    }
    bar.set_position(progress.done);
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
