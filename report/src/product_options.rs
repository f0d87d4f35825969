//! What the page of a product selects.

/// What [`product_html`](crate::product_html) selects.
///
/// ```
/// use stationdb_report::ProductOptions;
///
/// let options = ProductOptions::new().filter("startedWithin <= \"90.00:00:00\"").time_zone("UTC");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ProductOptions {
    pub(crate) filter: Option<String>,
    pub(crate) time_zone: Option<String>,
    pub(crate) measurements_max: Option<usize>,
}

impl ProductOptions {
    /// All test results of the product, weeks in UTC, and 50 measurements at most.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A condition on the test results, in the filter language.
    #[must_use]
    pub fn filter(mut self, filter: impl Into<String>) -> Self {
        self.filter = Some(filter.into());
        self
    }

    /// The zone in which weeks begin.
    #[must_use]
    pub fn time_zone(mut self, zone: impl Into<String>) -> Self {
        self.time_zone = Some(zone.into());
        self
    }

    /// How many of the measurements that have values are shown, by path and name. As many without values,
    /// or 200, end the search for them.
    #[must_use]
    pub fn measurements_max(mut self, count: usize) -> Self {
        self.measurements_max = Some(count);
        self
    }
}
