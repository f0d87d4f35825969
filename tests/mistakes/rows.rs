//! Mistakes with tables, and with the rows that are appended and asked for.

use stationdb::prelude::*;
use stationdb::{Control, tables::ScanRequest};

use crate::world::request;
use crate::{Mistake, mistake};

pub(crate) fn mistakes() -> Vec<Mistake> {
    vec![
        mistake!("a table without columns", InvalidArgument, "at columns", ["column"], |w| w
            .session
            .create_table(request(r#"{"columns": []}"#)?)
            .map(drop)),
        mistake!("a table without an index", InvalidArgument, "at columns", ["INDEX"], |w| w
            .session
            .create_table(request(r#"{"columns": [{"name": "a", "dataType": "INT64"}]}"#)?)
            .map(drop)),
        mistake!(
            "a table with two indexes",
            InvalidArgument,
            "at columns[1].columnType",
            ["INDEX"],
            |w| w
                .session
                .create_table(request(
                    r#"{"columns": [
                {"name": "a", "dataType": "INT64", "columnType": "INDEX"},
                {"name": "b", "dataType": "INT64", "columnType": "INDEX"}]}"#
                )?)
                .map(drop)
        ),
        mistake!(
            "two columns of one name",
            InvalidArgument,
            "at columns[1].name",
            ["\"a\""],
            |w| w
                .session
                .create_table(request(
                    r#"{"columns": [
                {"name": "a", "dataType": "INT64", "columnType": "INDEX"},
                {"name": "a", "dataType": "INT64"}]}"#
                )?)
                .map(drop)
        ),
        mistake!("an index of texts", InvalidArgument, "at columns[0].dataType", ["INT64"], |w| w
            .session
            .create_table(request(
                r#"{"columns": [
                {"name": "a", "dataType": "STRING", "columnType": "INDEX"}]}"#
            )?)
            .map(drop)),
        mistake!("a row with too few cells", InvalidArgument, "at frame.data[0]", ["3"], |w| w
            .append(r#"{"frame": {"data": [["4", "1"]]}}"#)),
        mistake!(
            "a cell that is no number",
            InvalidArgument,
            "at row 1, column \"volts\"",
            ["\"1,5\"", "1.5"],
            |w| w.append(r#"{"frame": {"data": [["4", "1", "a"], ["5", "1,5", "a"]]}}"#)
        ),
        mistake!(
            "a null in the index",
            InvalidArgument,
            "at row 0, column \"time\"",
            ["null"],
            |w| w.append(r#"{"frame": {"data": [[null, "1", "a"]]}}"#)
        ),
        mistake!(
            "a number out of range",
            InvalidArgument,
            "at row 0, column \"time\"",
            ["99999999999999999999"],
            |w| w.append(r#"{"frame": {"data": [["99999999999999999999", "1", "a"]]}}"#)
        ),
        mistake!(
            "an unknown column in an append",
            InvalidArgument,
            "at frame.columns[1]",
            ["\"volt\"", "`volts`"],
            |w| w.append(r#"{"frame": {"columns": ["time", "volt", "note"], "data": []}}"#)
        ),
        mistake!(
            "a column of an append twice",
            InvalidArgument,
            "at frame.columns[1]",
            ["twice"],
            |w| w.append(r#"{"frame": {"columns": ["time", "time", "note"], "data": []}}"#)
        ),
        mistake!("an append after the end of data", Conflict, "", ["end"], |w| w
            .session
            .append_table_data(&w.closed, request(r#"{"frame": {"data": [["4", "1", "a"]]}}"#)?)),
        mistake!(
            "a column that does not exist",
            InvalidArgument,
            "at columns[0]",
            ["\"Volts\"", "`volts`"],
            |w| w.rows(r#"{"columns": ["Volts"]}"#)
        ),
        mistake!(
            "a column like no other",
            InvalidArgument,
            "at columns[0]",
            ["\"pressure\"", "time, volts, note"],
            |w| w.rows(r#"{"columns": ["pressure"]}"#)
        ),
        mistake!("a column twice", InvalidArgument, "at columns[1]", ["volts"], |w| w
            .rows(r#"{"columns": ["volts", "volts"]}"#)),
        mistake!(
            "an order by a column that does not exist",
            InvalidArgument,
            "at orderBy[0].column",
            ["`time`"],
            |w| w.rows(r#"{"orderBy": [{"column": "tim"}]}"#)
        ),
        mistake!(
            "a condition on a column that does not exist",
            InvalidArgument,
            "at filters[0].column",
            ["`volts`"],
            |w| w.rows(r#"{"filters": [{"column": "vots", "operation": "EQUALS", "value": "1"}]}"#)
        ),
        mistake!(
            "a condition on a text that asks for more",
            InvalidArgument,
            "at filters[0].operation",
            ["STRING"],
            |w| w.rows(
                r#"{"filters": [{"column": "note", "operation": "GREATER_THAN", "value": "1"}]}"#
            )
        ),
        mistake!(
            "a condition with a value that is no number",
            InvalidArgument,
            "at filters[0].value",
            ["\"high\""],
            |w| w.rows(
                r#"{"filters": [{"column": "volts", "operation": "EQUALS", "value": "high"}]}"#
            )
        ),
        mistake!(
            "a plot over a column that does not exist",
            InvalidArgument,
            "at decimation.xColumn",
            ["`time`"],
            |w| {
                w.plot(r#"{"decimation": {"xColumn": "tme", "yColumns": ["volts"], "intervals": 9, "method": "MAX_MIN"}}"#)
            }
        ),
        mistake!(
            "a plot of a column that does not exist",
            InvalidArgument,
            "at decimation.yColumns[0]",
            ["`volts`"],
            |w| w.plot(
                r#"{"decimation": {"yColumns": ["volt"], "intervals": 9, "method": "MAX_MIN"}}"#
            )
        ),
        mistake!("a plot of texts", InvalidArgument, "at decimation.yColumns[0]", ["note"], |w| w
            .plot(
                r#"{"decimation": {"yColumns": ["note"], "intervals": 9, "method": "MAX_MIN"}}"#
            )),
        mistake!("a plot of no interval", InvalidArgument, "at decimation.intervals", ["0"], |w| w
            .plot(
                r#"{"decimation": {"yColumns": ["volts"], "intervals": 0, "method": "MAX_MIN"}}"#
            )),
        mistake!(
            "a scan of a column that does not exist",
            InvalidArgument,
            "at columns[0]",
            ["`volts`"],
            |w| w
                .session
                .scan(&w.table, ScanRequest::new().columns(["volst"]), &Control::default())
                .map(drop)
        ),
        mistake!("a stream that is no Arrow stream", InvalidArgument, "", ["Arrow"], |w| w
            .session
            .append_arrow(&w.table, &mut &b"time,volts"[..], None)),
    ]
}
