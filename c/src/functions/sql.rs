//! Statements of SQL.

use crate::failure::Outcome;
use crate::memory::{In, Out};
use crate::registry;

#[cfg(feature = "sql")]
mod statements {
    use std::collections::BTreeMap;

    use stationdb::Error;
    use stationdb::serde_json::{self, Value};
    use stationdb_sql::datafusion::common::{ParamValues, ScalarValue};
    use stationdb_sql::{Asked, Limits, Options, Statement};

    use crate::caller::Caller;
    use crate::control::Watch;
    use crate::failure::{Failure, Outcome};
    use crate::registry::{self, Object};
    use crate::rows::Rows;

    fn scalar(name: &str, value: &Value) -> Outcome<ScalarValue> {
        Ok(match value {
            Value::Null => ScalarValue::Null,
            Value::Bool(value) => ScalarValue::Boolean(Some(*value)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => ScalarValue::Int64(Some(whole)),
                (None, value) if number.is_f64() => ScalarValue::Float64(value),
                _ => {
                    let told = format!("the parameter {name} has no room in 64 bits");
                    return Err(Error::invalid(told).at_member(name).into());
                }
            },
            Value::String(text) => ScalarValue::Utf8(Some(text.clone())),
            Value::Array(_) | Value::Object(_) => {
                return Err(Error::invalid(format!(
                    "the parameter {name} is a list or an object; give null, a bool, a number or a \
                     text"
                ))
                .at_member(name)
                .into());
            }
        })
    }

    fn values(json: &str) -> Outcome<Option<ParamValues>> {
        if json.trim().is_empty() {
            return Ok(None);
        }
        let given: BTreeMap<String, Value> = serde_json::from_str(json).map_err(|error| {
            Failure::from(Error::invalid(format!(
                "parameters: {error}; give an object, as {{\"low\": 1}} for $low"
            )))
        })?;
        let given: Vec<(String, ScalarValue)> = given
            .iter()
            .map(|(name, value)| Ok((name.clone(), scalar(name, value)?)))
            .collect::<Outcome<_>>()?;
        Ok((!given.is_empty()).then(|| ParamValues::from(given)))
    }

    pub fn begin(
        caller: &Caller,
        statement: &str,
        parameters: &str,
        watch: Option<&Watch>,
    ) -> Outcome<u64> {
        let mut asked = Asked::default();
        asked.values = values(parameters)?;
        // What exceeds the memory goes into files that disappear with the statement.
        asked.options = Options::default().spill_directory(std::env::temp_dir());
        // Who asks can cancel, and may read for long.
        asked.limits = Limits::default().time(None);
        let begun = caller.begin(watch)?;
        let session = begun.session()?;
        asked.kept = Some(Box::new(caller.open.lease()));
        let rows = Statement::begin(session, statement, asked, &begun.control)?;
        let control = begun.control.clone();
        let found = Rows::new(&caller.open, rows.schema(), Box::new(rows), control);
        registry::put(Object::Rows(found))
    }
}

#[cfg(not(feature = "sql"))]
mod statements {
    use stationdb::Error;

    use crate::caller::Caller;
    use crate::control::Watch;
    use crate::failure::Outcome;

    pub fn begin(_: &Caller, _: &str, _: &str, _: Option<&Watch>) -> Outcome<u64> {
        Err(Error::unsupported("this library was built without SQL; build it with the feature sql")
            .into())
    }
}

fn begin(session: u64, statement: &str, parameters: &str, control: u64) -> Outcome<u64> {
    // A transaction is told so.
    let caller = registry::caller(session)?;
    let watch = registry::optional_control(control)?;
    statements::begin(&caller, statement, parameters, watch.as_deref())
}

export! {
    fn sdb_sql(
        session: u64,
        statement: In<u8>,
        statement_length: i64,
        parameters: In<u8>,
        parameters_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let statement = statement.text("statement", statement_length)?;
        let parameters = parameters.text("parameters", parameters_length)?;
        rows.set(begin(session, statement, parameters, control)?);
        Ok(())
    }

    fn sdb_sql_utf16(
        session: u64,
        statement: In<u16>,
        statement_length: i64,
        parameters: In<u16>,
        parameters_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let statement = statement.text("statement", statement_length)?;
        let parameters = parameters.text("parameters", parameters_length)?;
        rows.set(begin(session, &statement, &parameters, control)?);
        Ok(())
    }
}
