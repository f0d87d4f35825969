//! Arguments of operations whose types only the services know.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;

use crate::arrow::array::RecordBatch;
use crate::arrow::error::ArrowError;
use crate::columnar::{RowSource, TableSource};
use crate::error::{Error, Result};
use crate::model::assets::SystemConnection;
use crate::model::records::RecordKind;
use crate::model::results::ResultWithSteps;
use crate::services::ContentWriter;
use crate::session::{RowsPart, SegmentFile};
use crate::value::argument::{Argument, Body, ByValue, WireRules};

/// What the wire of a service has that no signature says.
pub(in crate::services) fn wire_rules(service: &str, operation: &str) -> WireRules {
    let also: &[_] = match service {
        // The names of earlier clients.
        "AssetService" => {
            &[("utilization_identifiers", "ids"), ("utilization_timestamp", "timestamp")]
        }
        _ => &[],
    };
    let lenient = matches!(service, "WorkItemService" | "TestPlanService")
        && operation != "delete_work_item_templates";
    WireRules { lenient, also }
}

impl ByValue for RecordKind {}

impl ByValue for Option<SystemConnection> {
    fn absent(_body: &Body<'_>, _name: &str) -> Option<Self> {
        Some(None)
    }
}

/// Types that JSON does not have. Calls with them are refused before their arguments are read.
macro_rules! not_json {
    ($($type:ty = $form:literal;)*) => {
        $(impl<'a> Argument<'a> for $type {
            type Kept = Infallible;
            const OTHER: Option<&'static str> = Some($form);

            fn read(_body: &mut Body<'_>, name: &str) -> Result<Infallible> {
                Err(Error::unsupported(format!("the argument `{name}` is {}", $form)))
            }

            fn lend(kept: &'a mut Infallible) -> Result<Self> {
                match *kept {}
            }
        })*
    };
}

not_json! {
    &'a mut (dyn Read + 'a) = "a reader of bytes";
    &'a mut (dyn RowSource + 'a) = "a source of rows";
    &'a mut (dyn TableSource + 'a) = "a source of tables";
    &'a mut (dyn Write + 'a) = "a writer of bytes";
    &'a mut (dyn Write + Send + 'a) = "a writer of bytes";
    &'a Path = "a path of this machine";
    ContentWriter = "content that was written before";
    Option<&'a str> = "a name of what the bytes have";
    &'a [ResultWithSteps] = "results with tables of Arrow batches";
    &'a crate::model::tables::waveform::Waveform<'a> = "a waveform in memory";
    Range<u64> = "a range of ordinals";
    &'a mut (dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + 'a) =
        "a stream of Arrow batches";
    &'a mut (dyn for<'f> FnMut(SegmentFile<'f>) -> Result<()> + 'a) = "a function";
    &'a mut (dyn for<'f> FnMut(RowsPart<'f>) -> Result<()> + 'a) = "a function";
}
