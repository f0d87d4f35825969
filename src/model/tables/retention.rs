//! How long a table keeps its rows: the requests, and the stored policy. They are native to this
//! crate and have no form in the public service.

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::value::limits;
use crate::value::wire::record;

record! {
    /// How long a table keeps its rows. A bound that is absent does not limit; at least one is
    /// required. A row is deleted when one of them lets it go.
    wire pub struct SetRetentionRequest new() {
        /// Greatest number of rows; those that were appended first are deleted.
        pub rows_max: Option<u64>,
        /// Seconds for which a row is kept after the time in its index, which must be a time.
        pub index_age_seconds: Option<u64>,
        /// Seconds for which a row is kept after its append.
        pub append_age_seconds: Option<u64>,
    }

    /// How long a table keeps its rows.
    answer pub struct Retention {
        /// Greatest number of rows; no bound when absent.
        pub rows_max: Option<u64>,
        /// Seconds for which a row is kept after the time in its index; no bound when absent.
        pub index_age_seconds: Option<u64>,
        /// Seconds for which a row is kept after its append; no bound when absent.
        pub append_age_seconds: Option<u64>,
        /// Time of the last change of the bounds.
        pub updated_at: Option<DateTime<Utc>>,
        /// Id of the user who set the bounds.
        pub updated_by: Option<String>,
    }

    /// Rows whose time of append is known.
    pub struct AppendMark {
        /// Milliseconds since 1970 UTC: no row before `end` was appended later.
        pub time_ms: i64,
        /// The append ordinal after these rows.
        pub end: u64,
    }

    /// The policy of a table as its state has it.
    pub struct RetentionPolicy {
        /// Greatest number of rows.
        pub rows_max: Option<u64>,
        /// Seconds after the time in the index.
        pub index_age_seconds: Option<u64>,
        /// Seconds after the append.
        pub append_age_seconds: Option<u64>,
        /// Time of the last change of the bounds.
        pub updated_at: Option<DateTime<Utc>>,
        /// Id of the user who set them.
        pub updated_by: Option<String>,
        /// When rows were appended, in order; only with a bound of the time after the append.
        pub marks: Vec<AppendMark>,
    }
}

impl SetRetentionRequest {
    /// The policy that this asks for, without marks.
    ///
    /// # Errors
    /// `InvalidArgument` without a bound and for an age of 0; `LimitExceeded` for an age that is
    /// too long.
    pub(crate) fn policy(&self, now: DateTime<Utc>, user: &str) -> Result<RetentionPolicy> {
        let Self { rows_max, index_age_seconds, append_age_seconds } = *self;
        if rows_max.is_none() && index_age_seconds.is_none() && append_age_seconds.is_none() {
            return Err(Error::invalid(
                "a retention needs rowsMax, indexAgeSeconds or appendAgeSeconds; delete_retention \
                 removes it",
            ));
        }
        check_age("indexAgeSeconds", index_age_seconds)?;
        check_age("appendAgeSeconds", append_age_seconds)?;
        Ok(RetentionPolicy {
            rows_max,
            index_age_seconds,
            append_age_seconds,
            updated_at: Some(now),
            updated_by: Some(user.to_owned()),
            marks: Vec::new(),
        })
    }
}

fn check_age(member: &str, seconds: Option<u64>) -> Result<()> {
    let most = limits::RETENTION_SECONDS;
    match seconds {
        Some(0) => Err(Error::invalid(
            "an age of 0 seconds would delete each row at once; ask for at least 1",
        )
        .at_member(member)),
        Some(seconds) if seconds > most => Err(Error::limit(format!(
            "an age of {seconds} seconds is longer than the {most} that a retention may have; \
             leave the bound out to keep rows for ever"
        ))
        .at_member(member)),
        _ => Ok(()),
    }
}

impl RetentionPolicy {
    /// The answer for a caller.
    pub(crate) fn answered(self) -> Retention {
        Retention {
            rows_max: self.rows_max,
            index_age_seconds: self.index_age_seconds,
            append_age_seconds: self.append_age_seconds,
            updated_at: self.updated_at,
            updated_by: self.updated_by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn the_age_of_rows_is_bounded() {
        let check = |seconds: usize| check_age("indexAgeSeconds", Some(seconds as u64));
        limits::holds_at(limits::RETENTION_SECONDS, ErrorKind::LimitExceeded, check);
        assert_eq!(check(0).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
