//! Which column has which member.

use std::collections::BTreeMap;

use stationdb::{Error, Result};

use super::ImportOptions;

/// A member of a result, a step or a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Member {
    SerialNumber,
    PartNumber,
    ProgramName,
    Operator,
    HostName,
    SystemId,
    StartedAt,
    TimeOfDay,
    TotalTime,
    Run,
    Status,
    StepPath,
    StepName,
    StepType,
    Name,
    Value,
    Units,
    LowLimit,
    HighLimit,
    NominalValue,
    ComparisonType,
    MeasurementStatus,
}

/// Each member, its name in options, and the usual names of its column, the best first. They are in
/// lower case without blanks and signs.
const MEMBERS: [(Member, &str, &[&str]); 22] = [
    (
        Member::SerialNumber,
        "serialNumber",
        &[
            "serialnumber",
            "serialno",
            "serial",
            "sn",
            "uutserialnumber",
            "dutid",
            "dut",
            "uut",
            "barcode",
        ],
    ),
    (Member::PartNumber, "partNumber", &["partnumber", "partno", "pn", "part", "product", "model"]),
    (
        Member::ProgramName,
        "programName",
        &["programname", "program", "testprogram", "testplan", "sequence", "recipe"],
    ),
    (Member::Operator, "operator", &["operator", "operatorname", "username", "user"]),
    (
        Member::HostName,
        "hostName",
        &["hostname", "host", "stationid", "stationname", "station", "teststation", "computer"],
    ),
    (Member::SystemId, "systemId", &["systemid"]),
    (
        Member::StartedAt,
        "startedAt",
        &[
            "startedat",
            "starttime",
            "startdatetime",
            "start",
            "timestamp",
            "datetime",
            "testdate",
            "startdate",
            "date",
        ],
    ),
    (Member::TimeOfDay, "timeOfDay", &["timeofday", "time"]),
    (
        Member::TotalTime,
        "totalTimeInSeconds",
        &["totaltimeinseconds", "totaltime", "duration", "testtime", "cycletime", "elapsed"],
    ),
    (Member::Run, "run", &["run", "runid", "resultid", "executionid"]),
    (
        Member::Status,
        "status",
        &[
            "resultstatus",
            "overallresult",
            "overallstatus",
            "overall",
            "uutstatus",
            "uutresult",
            "unitstatus",
            "unitresult",
        ],
    ),
    (Member::StepPath, "stepPath", &["steppath", "path", "testgroup", "group"]),
    (Member::StepName, "stepName", &["stepname", "step", "testname", "testcase", "test"]),
    (Member::StepType, "stepType", &["steptype"]),
    (
        Member::Name,
        "name",
        &["measurementname", "parametername", "name", "parameter", "characteristic"],
    ),
    (
        Member::Value,
        "measurement",
        &["value", "measuredvalue", "measurementvalue", "measvalue", "reading", "actual"],
    ),
    (Member::Units, "units", &["units", "unit", "uom"]),
    (
        Member::LowLimit,
        "lowLimit",
        &["lowlimit", "lowerlimit", "limitlow", "lsl", "low", "lower", "minimum", "min"],
    ),
    (
        Member::HighLimit,
        "highLimit",
        &["highlimit", "upperlimit", "limithigh", "usl", "high", "upper", "maximum", "max"],
    ),
    (Member::NominalValue, "nominalValue", &["nominalvalue", "nominal", "target", "expected"]),
    (
        Member::ComparisonType,
        "comparisonType",
        &["comparisontype", "comparison", "comparator", "comp", "limittype"],
    ),
    (Member::MeasurementStatus, "measurementStatus", &["measurementstatus", "stepstatus"]),
];

/// What is the status of a measurement where a row is one, and that of the unit where a row is a
/// unit.
const OF_A_ROW: [&str; 6] = ["status", "result", "outcome", "verdict", "passfail", "judgement"];
/// The name or the value of a measurement, whichever has no other column.
const EITHER: &str = "measurement";
/// The value of a measurement where a row has a name and limits or units, and the column has numbers. Other
/// columns of these names have statuses.
const VALUE_BY_CONTENT: [&str; 4] = ["measured", "meas", "results", "result"];

/// A name in lower case without blanks and signs.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The columns of the members, and the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    found: BTreeMap<Member, usize>,
    /// Members that the options name, or keep without a column.
    told: Vec<Member>,
    /// The columns of no member.
    pub(super) rest: Vec<usize>,
    /// Whether a row is a measurement; otherwise it is a unit.
    pub(super) is_long: bool,
    /// Columns with the names of limits that are no limits, because no column has values.
    pub(super) no_limits: Vec<usize>,
}

impl Columns {
    /// Finds the columns. `has_numbers` tells whether a column has numbers that are no statuses.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown member and for a column that is not there.
    pub(super) fn find(
        names: &[String],
        options: &ImportOptions,
        has_numbers: &dyn Fn(usize) -> bool,
    ) -> Result<Self> {
        let mut columns = Self::default();
        for (member, column) in &options.columns {
            let Some((found, ..)) = MEMBERS.iter().find(|(_, name, _)| name == member) else {
                let known: Vec<&str> = MEMBERS.iter().map(|(_, name, _)| *name).collect();
                return Err(Error::invalid(format!(
                    "{member:?} is no member of results; the members are {}",
                    known.join(", ")
                ))
                .at_member("columns"));
            };
            columns.told.push(*found);
            if column.is_empty() {
                continue;
            }
            let at = position(names, column).map_err(|error| error.at_member("columns"))?;
            columns.found.insert(*found, at);
        }
        let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
        for (member, _, usual) in &MEMBERS {
            columns.guess(*member, usual, &plain);
        }
        match (columns.get(Member::Name), columns.get(Member::Value)) {
            (None, Some(_)) => columns.guess(Member::Name, &[EITHER], &plain),
            (name, None) if name.or(columns.get(Member::StepName)).is_some() => {
                columns.guess(Member::Value, &[EITHER], &plain);
            }
            _ => {}
        }
        let has = |member| columns.get(member).is_some();
        let has_name = has(Member::Name) || has(Member::StepName);
        let limits = [Member::LowLimit, Member::HighLimit];
        let has_more = limits.into_iter().any(has) || has(Member::Units);
        if has_name && has_more && !has(Member::Value) {
            let is_known = |at: usize, name: &String| {
                VALUE_BY_CONTENT.contains(&name.as_str()) && has_numbers(at)
            };
            let names = plain.iter().enumerate();
            let known = names.map(|(at, name)| if is_known(at, name) { name.as_str() } else { "" });
            let known: Vec<String> = known.map(str::to_owned).collect();
            columns.guess(Member::Value, &VALUE_BY_CONTENT, &known);
        }
        columns.is_long = has_name && columns.get(Member::Value).is_some();
        let of_a_row = if columns.is_long { Member::MeasurementStatus } else { Member::Status };
        columns.guess(of_a_row, &OF_A_ROW, &plain);
        if !columns.is_long {
            columns.no_limits = limits.into_iter().filter_map(|one| columns.get(one)).collect();
            // Without a column of values, these are measurements like others.
            let of_measurements = [
                Member::StepPath,
                Member::StepName,
                Member::StepType,
                Member::Name,
                Member::Value,
                Member::Units,
                Member::LowLimit,
                Member::HighLimit,
                Member::NominalValue,
                Member::ComparisonType,
                Member::MeasurementStatus,
            ];
            columns.found.retain(|member, _| !of_measurements.contains(member));
        }
        columns.count_rest(names.len());
        Ok(columns)
    }

    fn guess(&mut self, member: Member, usual: &[&str], plain: &[String]) {
        if self.found.contains_key(&member) || self.told.contains(&member) {
            return;
        }
        let is_free = |at: &usize| !self.found.values().any(|taken| taken == at);
        let named = |name: &&str| plain.iter().position(|known| known == name).filter(is_free);
        if let Some(at) = usual.iter().find_map(named) {
            self.found.insert(member, at);
        }
    }

    fn count_rest(&mut self, width: usize) {
        let taken: Vec<usize> = self.found.values().copied().collect();
        self.rest = (0..width).filter(|at| !taken.contains(at)).collect();
    }

    /// The column of a member.
    pub(super) fn get(&self, member: Member) -> Option<usize> {
        self.found.get(&member).copied()
    }

    /// Takes the column of a member that was only guessed away.
    pub(super) fn take_away(&mut self, member: Member, width: usize) -> bool {
        let is_guessed = !self.told.contains(&member);
        let is_taken = is_guessed && self.found.remove(&member).is_some();
        self.count_rest(width);
        is_taken
    }
}

/// The position of the column with this name.
///
/// # Errors
/// `InvalidArgument` with the names that there are.
pub(super) fn position(names: &[String], column: &str) -> Result<usize> {
    names.iter().position(|name| name == column.trim()).ok_or_else(|| {
        let some: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
        Error::invalid(format!(
            "there is no column {column:?}; the columns are {}",
            some.join(", ")
        ))
        .with_args([column])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &str, options: &ImportOptions) -> Result<String> {
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        // A column of numbers has one in its name.
        let has_numbers = |at: usize| names[at].ends_with(" 5");
        let plain: Vec<String> =
            names.iter().map(|name| name.trim_end_matches(" 5").to_owned()).collect();
        let found = Columns::find(&plain, options, &has_numbers)?;
        let pairs = MEMBERS
            .iter()
            .filter_map(|(member, name, _)| Some(format!("{name}={}", names[found.get(*member)?])));
        let pairs: Vec<String> = pairs.collect();
        let rest: Vec<&str> = found.rest.iter().map(|at| names[*at].as_str()).collect();
        let form = if found.is_long { "long" } else { "wide" };
        Ok(format!("{form} {} | {}", pairs.join(" "), rest.join(" ")))
    }

    #[test]
    fn usual_names() {
        let none = ImportOptions::new();
        for (names, expected) in [
            (
                "Serial Number,Start Time,Step,Measurement,Value,Unit,LSL,USL,Status",
                "long serialNumber=Serial Number startedAt=Start Time stepName=Step \
                 name=Measurement measurement=Value units=Unit lowLimit=LSL highLimit=USL \
                 measurementStatus=Status | ",
            ),
            (
                "sn,parameter,measurement,result,overall_result",
                "long serialNumber=sn status=overall_result name=parameter \
                 measurement=measurement measurementStatus=result | ",
            ),
            (
                "serial,part,status,low,high,vout",
                "wide serialNumber=serial partNumber=part status=status | low high vout",
            ),
            (
                "SN,Test,Measurement,Lower Limit,Upper Limit,Unit",
                "long serialNumber=SN stepName=Test measurement=Measurement units=Unit \
                 lowLimit=Lower Limit highLimit=Upper Limit | ",
            ),
            ("SN,Measurement,vout", "wide serialNumber=SN | Measurement vout"),
            ("a,b", "wide  | a b"),
            // Numbers beside a name and limits or units are values.
            (
                "Serial,Test,Result 5,Low,High,Unit",
                "long serialNumber=Serial stepName=Test measurement=Result 5 units=Unit \
                 lowLimit=Low highLimit=High | ",
            ),
            (
                "Serial,Test,Result 5,Low,Status",
                "long serialNumber=Serial stepName=Test measurement=Result 5 lowLimit=Low \
                 measurementStatus=Status | ",
            ),
            (
                "Serial,Parameter,Measured 5,Result,Unit",
                "long serialNumber=Serial name=Parameter measurement=Measured 5 units=Unit \
                 measurementStatus=Result | ",
            ),
            (
                "Serial,Test,Result,Low,High",
                "wide serialNumber=Serial status=Result | Test Low High",
            ),
            ("Serial,Result 5,Low", "wide serialNumber=Serial status=Result 5 | Low"),
            ("Serial,Test,Result 5", "wide serialNumber=Serial status=Result 5 | Test"),
            // No column is taken twice.
            ("status,value,name", "long name=name measurement=value measurementStatus=status | "),
        ] {
            assert_eq!(columns(names, &none).unwrap(), expected, "{names}");
        }
    }

    #[test]
    fn told_columns_come_first() {
        let options = ImportOptions::new().map("serialNumber", "id").map("operator", "");
        let found = columns("id,serial,operator,x", &options).unwrap();
        assert_eq!(found, "wide serialNumber=id | serial operator x");
        let error = columns("a", &ImportOptions::new().map("serial", "a")).unwrap_err();
        assert!(error.message().contains("the members are serialNumber, partNumber"), "{error}");
        let error = columns("a,b", &ImportOptions::new().map("run", "c")).unwrap_err();
        assert!(error.message().contains("no column \"c\"; the columns are a, b"), "{error}");
    }

    #[test]
    fn usual_names_are_plain_and_of_one_member() {
        let mut seen = std::collections::BTreeSet::new();
        for name in MEMBERS.iter().flat_map(|(.., usual)| usual.iter()).chain(&OF_A_ROW) {
            assert_eq!(plain(name), *name);
            assert!(seen.insert(*name), "{name} is a name of two members");
        }
    }
}
