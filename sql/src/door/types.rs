//! Errors about the types of arguments, without advice to report a fault of the engine.
//!
//! DataFusion 55.2 tells the average of a text as an internal error, likely a bug. This can go with
//! the version that tells it as the mistake of the statement.

use datafusion::common::plan_datafusion_err;
use datafusion::error::DataFusionError;

/// What stands around a call in the error of DataFusion.
const BEFORE: &str = "No function matches the given name and argument types '";
const AFTER: &str = "'. You might need to add explicit type casts.";
/// Names of texts among types.
const TEXTS: [&str; 3] = ["Utf8", "LargeUtf8", "Utf8View"];

/// The error about a call of a function that does not take its arguments, in our words; other
/// errors as they are.
pub(super) fn told(error: DataFusionError, is_aggregate: impl Fn(&str) -> bool) -> DataFusionError {
    let DataFusionError::Plan(message) = error.find_root() else { return error };
    let call = message.split_once(BEFORE).and_then(|(_, rest)| rest.split_once(AFTER));
    let parts = call.and_then(|(call, _)| call.strip_suffix(')')?.split_once('('));
    match parts.filter(|(name, _)| is_aggregate(name)) {
        Some((name, types)) => mistake(name, types),
        None => error,
    }
}

fn mistake(name: &str, types: &str) -> DataFusionError {
    if types.split(", ").any(|one| TEXTS.contains(&one)) {
        return plan_datafusion_err!(
            "{name} takes numbers, and here it is given a column of texts: {name}({types}); name a \
             column of numbers, or make numbers of the texts, as {name}(try_cast(column as double)), \
             which leaves out texts that are none"
        );
    }
    plan_datafusion_err!(
        "{name} does not take arguments of these types: {name}({types}); cast them, as \
         {name}(cast(column as double))"
    )
}
