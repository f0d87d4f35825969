//! Mistakes with imported files.

use std::io::Cursor;

use stationdb::Control;
use stationdb::prelude::*;

use crate::world::request;
use crate::{Mistake, mistake};

pub(crate) fn mistakes() -> Vec<Mistake> {
    vec![
        mistake!(
            "a separator that was a semicolon",
            InvalidArgument,
            "at line 1, column \"time;volts;note\"",
            ["\";\"", "`separator`"],
            |w| {
                let import = format!(r#"{{"id": "{}", "separator": ","}}"#, w.table);
                w.import_csv(&import, "time;volts;note\n10;1;a\n")
            }
        ),
        mistake!(
            "a separator that was a tab",
            InvalidArgument,
            "at line 1, column \"time\\tvolts\"",
            ["a tab", "`separator`"],
            |w| {
                let import = format!(r#"{{"id": "{}", "separator": ","}}"#, w.table);
                w.import_csv(&import, "time\tvolts\n10\t1\n")
            }
        ),
        mistake!("a separator of two characters", InvalidArgument, "at separator", ["one"], |w| w
            .import_csv(r#"{"separator": "ab"}"#, "t,volts\n1,2\n")),
        mistake!("an empty text", InvalidArgument, "at line 1", ["first line", "columns"], |w| w
            .import_csv("{}", "")),
        mistake!(
            "a line with too few values",
            InvalidArgument,
            "at line 3",
            ["1", "2 columns"],
            |w| w.import_csv("{}", "t,volts\n1,2\n3\n")
        ),
        mistake!("a line with too many values", InvalidArgument, "at line 2", ["2"], |w| w
            .import_csv("{}", "t,volts\n1,2,3\n")),
        mistake!(
            "an index that does not exist",
            InvalidArgument,
            "at indexColumn",
            ["`time`"],
            |w| w.import_csv(r#"{"indexColumn": "tme"}"#, "time,volts\n1,2\n")
        ),
        mistake!("a quote without its end", InvalidArgument, "at line 2", ["quote"], |w| w
            .import_csv("{}", "t,note\n1,\"a\n")),
        mistake!(
            "a header that names a column twice",
            InvalidArgument,
            "at line 1, column \"t\"",
            ["two columns have the name"],
            |w| w.import_csv("{}", "t,t\n1,2\n")
        ),
        mistake!(
            "a header without a name",
            InvalidArgument,
            "at line 1, column \"\"",
            ["name"],
            |w| w.import_csv("{}", "t,\n1,2\n")
        ),
        mistake!(
            "a value that does not fit its column",
            InvalidArgument,
            "at line 3, column \"volts\"",
            ["\"high\""],
            |w| {
                let import = format!(r#"{{"id": "{}"}}"#, w.table);
                w.import_csv(&import, "time,volts,note\n10,1,a\n11,high,a\n")
            }
        ),
        mistake!(
            "a file with a column that the table does not have",
            InvalidArgument,
            "at line 1, column \"volt\"",
            ["volts"],
            |w| {
                let import = format!(r#"{{"id": "{}"}}"#, w.table);
                w.import_csv(&import, "time,volt,note\n10,1,a\n")
            }
        ),
        mistake!(
            "an import into a table that does not exist",
            InvalidArgument,
            "",
            ["24 hexadecimal digits"],
            |w| w.import_csv(r#"{"id": "99"}"#, "time\n1\n")
        ),
        mistake!("a Parquet file that is none", InvalidArgument, "", ["Parquet"], |w| w
            .session
            .import_parquet(
                request("{}")?,
                Box::new(Cursor::new(b"t,volts\n1,2\n".to_vec())),
                &Control::default()
            )
            .map(drop)),
        mistake!("a Parquet file that is empty", InvalidArgument, "", ["Parquet"], |w| w
            .session
            .import_parquet(request("{}")?, Box::new(Cursor::new(Vec::new())), &Control::default())
            .map(drop)),
    ]
}
