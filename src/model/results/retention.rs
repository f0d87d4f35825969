//! How long test results are kept: the policy, and what carrying it out tells. They are native to
//! this crate and have no form in the public service.

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::results::result::{TestResult, TestResultId};
use crate::model::results::status::StatusType;
use crate::value::limits;
use crate::value::wire::record;

record! {
    /// Which test results are kept. A result that no entry of `keep` keeps is deleted with its
    /// steps, and with the tables and files that only deleted results name. Results that are
    /// RUNNING, WAITING or LOOPING are always kept.
    ///
    /// ```
    /// use stationdb::results::{KeepResults, ResultRetention, StatusType};
    ///
    /// // All that failed, the last 90 days, and at least the last 1,000 of each product.
    /// let retention = ResultRetention::new([
    ///     KeepResults::new().statuses([StatusType::Failed]),
    ///     KeepResults::new().age_seconds(90 * 24 * 60 * 60),
    ///     KeepResults::new().newest_of_product(1_000),
    /// ]);
    /// assert_eq!(retention.keep.len(), 3);
    /// ```
    wire pub struct ResultRetention new(keep: Vec<KeepResults>) {
        /// The results that are kept: those of at least one entry. At least one is required.
        pub keep: Vec<KeepResults>,
        /// The products, by their part numbers, whose results the policy is about; all results when
        /// absent.
        pub part_numbers: Option<Vec<String>>,
        /// Whether tables stay that only deleted results name, or that name one as their test
        /// result.
        pub keep_tables: Option<bool>,
        /// Whether files stay that only deleted results name.
        pub keep_files: Option<bool>,
    }

    /// Results that a retention keeps: those for which all members hold. At least one member is
    /// required.
    wire pub struct KeepResults new() {
        /// Types of the status.
        pub statuses: Option<Vec<StatusType>>,
        /// Part numbers.
        pub part_numbers: Option<Vec<String>>,
        /// Seconds since the start of the result.
        pub age_seconds: Option<u64>,
        /// How many of each part number, those that started last, of the results with these
        /// statuses and part numbers.
        pub newest_of_product: Option<u64>,
    }

    /// What a retention of results deleted, or would delete.
    answer pub struct ResultRetentionReport {
        /// Whether nothing was deleted.
        pub dry_run: bool,
        /// Results.
        pub results: u64,
        /// Steps that were created for these results, those among them that were deleted before.
        pub steps: u64,
        /// Tables that only these results named.
        pub tables: u64,
        /// Files that only these results named.
        pub files: u64,
        /// Results that the policy is about and that it keeps.
        pub kept: u64,
        /// Results that it does not keep, and that the caller may not delete.
        pub refused: u64,
        /// The first 1,000 of the results that were deleted, or would be.
        pub ids: Vec<TestResultId>,
    }
}

impl ResultRetention {
    /// Checks the policy.
    ///
    /// # Errors
    /// `InvalidArgument` without an entry, and for an entry without a member or with an age or
    /// number of 0; `LimitExceeded` for an age that is too long.
    pub(crate) fn check(&self) -> Result<()> {
        if self.keep.is_empty() {
            return Err(Error::invalid(
                "a retention needs an entry of keep, or it would delete every result; \
                 delete_results deletes",
            )
            .at_member("keep"));
        }
        for (at, keep) in self.keep.iter().enumerate() {
            keep.check().map_err(|error| match error.place() {
                Some(crate::error::Place::Member(member)) => {
                    let place = format!("keep[{at}].{member}");
                    error.at_member(place)
                }
                _ => error.at_member(format!("keep[{at}]")),
            })?;
        }
        Ok(())
    }

    /// Whether the policy is about a result.
    pub(crate) fn is_about(&self, result: &TestResult) -> bool {
        has_part_number(self.part_numbers.as_ref(), result)
    }
}

fn has_part_number(part_numbers: Option<&Vec<String>>, result: &TestResult) -> bool {
    part_numbers.is_none_or(|part_numbers| {
        result.part_number.as_ref().is_some_and(|own| part_numbers.contains(own))
    })
}

impl KeepResults {
    fn check(&self) -> Result<()> {
        let Self { statuses, part_numbers, age_seconds, newest_of_product } = self;
        if statuses.is_none()
            && part_numbers.is_none()
            && age_seconds.is_none()
            && newest_of_product.is_none()
        {
            return Err(Error::invalid(
                "an entry needs statuses, partNumbers, ageSeconds or newestOfProduct, or the \
                 retention would keep every result",
            ));
        }
        for (member, number) in
            [("ageSeconds", age_seconds), ("newestOfProduct", newest_of_product)]
        {
            if *number == Some(0) {
                return Err(Error::invalid(format!("{member} is 0, so the entry keeps nothing"))
                    .at_member(member));
            }
        }
        let most = limits::RETENTION_SECONDS;
        match age_seconds {
            Some(seconds) if *seconds > most => Err(Error::limit(format!(
                "an age of {seconds} seconds is longer than the {most} that a retention may have"
            ))
            .at_member("ageSeconds")),
            _ => Ok(()),
        }
    }

    /// Whether status and part number of a result are those of the entry.
    pub(crate) fn is_about(&self, result: &TestResult) -> bool {
        let status = result.status.as_ref().map(|status| status.status_type);
        self.statuses.as_ref().is_none_or(|all| status.is_some_and(|own| all.contains(&own)))
            && has_part_number(self.part_numbers.as_ref(), result)
    }

    /// Whether a start is recent enough.
    pub(crate) fn is_recent(&self, started_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
        self.age_seconds.is_none_or(|seconds| {
            let age = started_at.map_or(0, |started_at| (now - started_at).num_milliseconds());
            i128::from(age) <= i128::from(seconds) * 1_000
        })
    }
}
