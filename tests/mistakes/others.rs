//! Mistakes that are no call with JSON: malformed texts, handles, and what follows from an answer.

use stationdb::prelude::*;
use stationdb::products::{CreateProductRequest, QueryProductsRequest};
use stationdb::tables::CreateTableRequest;
use stationdb::{Control, from_json, from_json_strict};

use crate::world::request;
use crate::{Mistake, mistake};

pub(crate) fn mistakes() -> Vec<Mistake> {
    vec![
        mistake!(
            "a misspelt `filter`",
            InvalidArgument,
            "at fliter",
            ["unknown member", "`filter`"],
            |_| from_json_strict::<QueryProductsRequest>(br#"{"fliter": "a"}"#).map(drop)
        ),
        mistake!(
            "a misspelt member of a column",
            InvalidArgument,
            "at columns[0].dataTyp",
            ["did you mean `dataType`?"],
            |_| from_json_strict::<CreateTableRequest>(
                br#"{"columns":[{"name":"a","dataTyp":"INT64"}]}"#
            )
            .map(drop)
        ),
        mistake!(
            "a member of another service",
            InvalidArgument,
            "at top",
            ["unknown member", "take"],
            |_| from_json_strict::<QueryProductsRequest>(br#"{"top": 3}"#).map(drop)
        ),
        mistake!("JSON that ends early", InvalidArgument, "", ["line 1 column"], |_| from_json::<
            QueryProductsRequest,
        >(
            b"{\"filter\":"
        )
        .map(drop)),
        mistake!("single quotes", InvalidArgument, "", ["line 1 column 2"], |_| from_json::<
            QueryProductsRequest,
        >(
            b"{'filter': 'a'}"
        )
        .map(drop)),
        mistake!(
            "a token of another query",
            InvalidArgument,
            "at continuationToken",
            ["token"],
            |w| {
                let all: Vec<_> =
                    ["P1", "P2", "P3"].map(|number| CreateProductRequest::new(number)).into();
                let _ = w.session.create_products(all)?;
                let page =
                    w.session.query_products(request(r#"{"take": 1, "orderBy": "NAME"}"#)?)?;
                let token = page.continuation_token.unwrap_or_default();
                w.products(&format!(
                    r#"{{"take": 1, "orderBy": "ID", "continuationToken": "{token}"}}"#
                ))
            }
        ),
        mistake!(
            "an action that the work item does not have",
            NotFound,
            "",
            ["JUMP", "executionActions"],
            |w| {
                let made = w
                    .session
                    .create_work_items(request(r#"[{"name": "w", "type": "t"}]"#)?)?
                    .into_result()?;
                let id = made.created_work_items[0].id.clone().unwrap_or_default();
                w.session.execute_work_item(&id, "JUMP").map(drop)
            }
        ),
        mistake!(
            "a refused item in a session that fails as a whole",
            InvalidArgument,
            "at [1].partNumber",
            ["item 2 of 2", "nothing of the batch was changed"],
            |w| w
                .session
                .all_or_nothing()
                .create_products(request(r#"[{"partNumber": "OK-1"}, {"name": "x"}]"#)?)
                .map(drop)
        ),
        mistake!(
            "a refused item in a transaction that fails as a whole",
            InvalidArgument,
            "at [1].partNumber",
            ["item 2 of 2"],
            |w| w.session.all_or_nothing().transaction(|tx| tx
                .create_products(request(r#"[{"partNumber": "OK-1"}, {"name": "x"}]"#)?)
                .map(drop))
        ),
        mistake!(
            "a refused item in a transaction",
            PartialFailure,
            "at [1].partNumber",
            ["item 2: a product needs"],
            |w| w.session.transaction(|tx| tx
                .create_products(request(r#"[{"partNumber": "OK-3"}, {}]"#)?)?
                .into_result()
                .map(drop))
        ),
        mistake!(
            "a refused item in a transaction that fails as a whole and ignores it",
            InvalidArgument,
            "at [0].partNumber",
            ["item 1 of 1"],
            |w| w.session.all_or_nothing().transaction(|tx| {
                let _ = tx.create_products(request("[{}]")?);
                Ok(())
            })
        ),
        mistake!(
            "files to delete that do not exist",
            PartialFailure,
            "at [1]",
            ["2 of 3 items failed: item 2: there is no file"],
            |w| {
                let file = request(r#"{"name": "a"}"#)?;
                let file = w.session.upload_file(&mut &b"a"[..], file, &Control::default())?;
                w.session.delete_files(vec![file, "x".into(), "y".into()])
            }
        ),
        mistake!("a stream that is no Arrow stream", InvalidArgument, "", ["Arrow"], |w| w
            .session
            .append_arrow(&w.table, &mut &b"time,volts"[..], None)),
    ]
}
