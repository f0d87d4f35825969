//! How long the page of a test result may get.

/// Bytes of the file when nothing is said, and the fewest.
const PAGE_BYTES: usize = 6_000_000;
const PAGE_BYTES_MIN: usize = 500_000;

/// The options of [`run_html`](crate::run_html).
///
/// ```
/// use stationdb_report::RunOptions;
///
/// let options = RunOptions::new().page_bytes(2_000_000);
/// assert_ne!(options, RunOptions::new().full(true));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    page_bytes: Option<usize>,
    is_full: bool,
}

impl RunOptions {
    /// A page of about 6 MB at most.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of the file, from 500,000; 6 MB if nothing is said. Steps have half of them at most,
    /// and the columns of the tables share the others.
    #[must_use]
    pub fn page_bytes(mut self, bytes: usize) -> Self {
        self.page_bytes = Some(bytes);
        self
    }

    /// Whether the page has every row of the tables that it shows, and every step.
    #[must_use]
    pub fn full(mut self, is_full: bool) -> Self {
        self.is_full = is_full;
        self
    }

    /// The bytes of the file; `None` for as many as it gets.
    pub(crate) fn budget(&self) -> Option<usize> {
        let bytes = self.page_bytes.unwrap_or(PAGE_BYTES).max(PAGE_BYTES_MIN);
        (!self.is_full).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_budget_unless_it_is_full() {
        assert_eq!(RunOptions::new().budget(), Some(6_000_000));
        assert_eq!(RunOptions::new().page_bytes(1).budget(), Some(500_000));
        assert_eq!(RunOptions::new().page_bytes(700_000).budget(), Some(700_000));
        assert_eq!(RunOptions::new().page_bytes(700_000).full(true).budget(), None);
    }
}
