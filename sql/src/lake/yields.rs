//! The yields of a fleet as a statement over the results of a lake.

use stationdb::results::StatusType;
use stationdb::{Error, Result};

const GOOD: [StatusType; 1] = [StatusType::Passed];
const BAD: [StatusType; 4] =
    [StatusType::Failed, StatusType::Errored, StatusType::Terminated, StatusType::TimedOut];

/// The table with the latest results of all stations, in a context over a lake.
const RESULTS: &str = "lake.test_result_changes";

/// What the yields of a lake are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LakeYieldKey {
    /// The part number.
    PartNumber,
    /// The station that published the result.
    Station,
    /// The name of the test program.
    ProgramName,
    /// The operator.
    Operator,
    /// The system.
    SystemId,
    /// The host.
    HostName,
    /// The workspace.
    Workspace,
}

impl LakeYieldKey {
    /// The column of the lake table, and that of the answer.
    fn columns(self) -> (&'static str, &'static str) {
        match self {
            Self::PartNumber => ("part_number", "part_number"),
            Self::Station => ("_station", "station"),
            Self::ProgramName => ("program_name", "program_name"),
            Self::Operator => ("operator", "operator"),
            Self::SystemId => ("system_id", "system_id"),
            Self::HostName => ("host_name", "host_name"),
            Self::Workspace => ("workspace", "workspace"),
        }
    }
}

/// Where the first result of a unit is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LakeYieldScope {
    /// Among the results of all stations: a unit that was tested at two of them is one unit.
    #[default]
    Lake,
    /// Among the results of the same station: a unit that was tested at two of them is a unit of
    /// each. The figures of a station are those that its store answers.
    Station,
}

/// The yields of the results in a lake, by product and station, as one statement.
///
/// The figures are those of [`yields`](stationdb::results::ResultService::yields), over the latest
/// results of all stations. A unit is a part number, a serial number and a program name; a result
/// without a serial number is a unit of its own. The first pass of a unit counts in the group of its
/// first result, also when that is of another station than the last, whose group has the final
/// yield.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use stationdb_sql::LakeYields;
/// use stationdb_sql::datafusion::object_store::memory::InMemory;
///
/// let sql = stationdb_sql::lake(Arc::new(InMemory::new()), &"plant".into()).await?;
/// let yields = LakeYields::new().filter("started_at >= '2026-01-01'").statement()?;
/// sql.sql(&yields).await?.show().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeYields {
    keys: Vec<LakeYieldKey>,
    scope: LakeYieldScope,
    filter: Option<String>,
    good: Vec<StatusType>,
    bad: Vec<StatusType>,
    results: String,
}

impl Default for LakeYields {
    fn default() -> Self {
        Self::new()
    }
}

impl LakeYields {
    /// The yields of all results, by part number and station.
    #[must_use]
    pub fn new() -> Self {
        Self {
            keys: vec![LakeYieldKey::PartNumber, LakeYieldKey::Station],
            scope: LakeYieldScope::Lake,
            filter: None,
            good: GOOD.into(),
            bad: BAD.into(),
            results: RESULTS.to_owned(),
        }
    }

    /// The same by other keys, in the order of the columns; without any, of all results together.
    #[must_use]
    pub fn by(mut self, keys: impl IntoIterator<Item = LakeYieldKey>) -> Self {
        self.keys = keys.into_iter().collect();
        self
    }

    /// The same with the first results of units looked for elsewhere.
    #[must_use]
    pub fn scope(mut self, scope: LakeYieldScope) -> Self {
        self.scope = scope;
        self
    }

    /// The same of the results that a condition of SQL selects, over the columns of
    /// `lake.test_result_changes`. A unit whose first result is not among them counts in no
    /// first-pass yield.
    ///
    /// The condition is part of the statement as it is: build none from a text of others.
    #[must_use]
    pub fn filter(mut self, condition: impl Into<String>) -> Self {
        self.filter = Some(condition.into());
        self
    }

    /// The same with other types of status that are good. Default: `PASSED`.
    #[must_use]
    pub fn good(mut self, types: impl IntoIterator<Item = StatusType>) -> Self {
        self.good = types.into_iter().collect();
        self
    }

    /// The same with other types of status that are bad. Default: `FAILED`, `ERRORED`, `TERMINATED`
    /// and `TIMED_OUT`. Results of types that are neither good nor bad are not counted.
    #[must_use]
    pub fn bad(mut self, types: impl IntoIterator<Item = StatusType>) -> Self {
        self.bad = types.into_iter().collect();
        self
    }

    /// The same over another table or view with the latest results, for engines that read the lake
    /// by [`Lake::views`](stationdb_lake::Lake::views), as `test_result_latest`.
    #[must_use]
    pub fn over(mut self, table: impl Into<String>) -> Self {
        self.results = table.into();
        self
    }

    /// The statement. Its answer has the keys, and then `first_pass_yield`, `final_yield`,
    /// `result_yield`, `retest_rate`, `good`, `bad`, `not_counted`, `units`, `first_units` and
    /// `retests`; a yield is null where nothing is counted. Groups come in order of their keys, null
    /// last.
    ///
    /// It is standard SQL with window functions, for [`query`](crate::query), for a context, also one
    /// of a cluster, and for other engines.
    ///
    /// # Errors
    /// `InvalidArgument` for a type that is good and bad, and for a key that is there twice.
    pub fn statement(&self) -> Result<String> {
        if let Some(both) = self.good.iter().find(|good| self.bad.contains(good)) {
            return Err(Error::invalid(format!("{both} is good and bad; it must be one of them")));
        }
        for (at, key) in self.keys.iter().enumerate() {
            if self.keys.iter().skip(at + 1).any(|other| other == key) {
                return Err(Error::invalid(format!("the key {key:?} is there twice")));
            }
        }
        let class = |types: &[StatusType], value: &str| {
            let names: Vec<String> = types.iter().map(|of| format!("'{}'", of.as_str())).collect();
            if names.is_empty() {
                String::new()
            } else {
                format!(" when status in ({}) then {value}", names.join(", "))
            }
        };
        let (good, bad) = (class(&self.good, "1"), class(&self.bad, "0"));
        let filter = self.filter.as_deref().unwrap_or("1 = 1");
        let table = &self.results;
        let station = match self.scope {
            LakeYieldScope::Lake => "",
            LakeYieldScope::Station => "_station, ",
        };
        let unit = format!("{station}part_number, serial_number, program_name, alone, is_counted");
        let keys = |each: &dyn Fn((&str, &str)) -> String| -> Vec<String> {
            self.keys.iter().map(|key| each(key.columns())).collect()
        };
        let shown: String =
            keys(&|(column, name)| format!("{column} as {name}, ")).into_iter().collect();
        let columns = keys(&|(column, _)| column.to_owned()).join(", ");
        let order = keys(&|(column, _)| format!("{column} nulls last")).join(", ");
        let grouped = if self.keys.is_empty() {
            String::new()
        } else {
            format!("\ngroup by {columns}\norder by {order}")
        };
        Ok(format!(
            "with classed as (
  select *, case when 1 = 0 then null{good}{bad} end as is_good,
    case when {filter} then 1 else 0 end as is_selected,
    case when coalesce(serial_number, '') = '' then concat(_station, ' ', id) else '' end as alone
  from {table}
), counted as (
  select *, case when is_good is null then 0 else 1 end as is_counted from classed
), ranked as (
  select *,
    row_number() over (
      partition by {unit} order by started_at, id, _station) as from_first,
    row_number() over (
      partition by {unit}, is_selected
      order by started_at desc, id desc, _station desc) as from_last
  from counted
), selected as (
  select *, case when from_first = 1 then is_good end as first_good,
    case when from_last = 1 then is_good end as last_good
  from ranked where is_selected = 1
)
select {shown}cast(sum(first_good) as double) / nullif(count(first_good), 0) as first_pass_yield,
  cast(sum(last_good) as double) / nullif(count(last_good), 0) as final_yield,
  cast(sum(is_good) as double) / nullif(count(is_good), 0) as result_yield,
  cast(count(is_good) - count(last_good) as double) / nullif(count(is_good), 0) as retest_rate,
  count(case when is_good = 1 then 1 end) as good,
  count(case when is_good = 0 then 1 end) as bad,
  count(*) - count(is_good) as not_counted,
  count(last_good) as units, count(first_good) as first_units,
  count(is_good) - count(first_good) as retests
from selected{grouped}"
        ))
    }
}
