//! Mistakes in the JSON of requests.

use stationdb::files::UpdateMetadataRequest;
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
        mistake!("a list where an object is wanted", InvalidArgument, "", ["object"], |_| {
            from_json::<QueryProductsRequest>(b"[]").map(drop)
        }),
        mistake!("a quoted number", InvalidArgument, "at take", ["integer", "\"10\""], |_| {
            from_json::<QueryProductsRequest>(br#"{"take": "10"}"#).map(drop)
        }),
        mistake!(
            "a number where a text is wanted",
            InvalidArgument,
            "at partNumber",
            ["string", "7"],
            |_| from_json::<CreateProductRequest>(br#"{"partNumber": 7}"#).map(drop)
        ),
        mistake!(
            "a text where a list is wanted",
            InvalidArgument,
            "at keywords",
            ["array"],
            |_| from_json::<CreateProductRequest>(br#"{"partNumber": "a", "keywords": "x"}"#)
                .map(drop)
        ),
        mistake!(
            "a property that is a number",
            InvalidArgument,
            "at properties.rev",
            ["string"],
            |_| from_json::<CreateProductRequest>(
                br#"{"partNumber": "a", "properties": {"rev": 3}}"#
            )
            .map(drop)
        ),
        mistake!(
            "an unknown value of an enumeration",
            InvalidArgument,
            "at orderBy",
            ["\"COST\"", "PART_NUMBER"],
            |_| from_json::<QueryProductsRequest>(br#"{"orderBy": "COST"}"#).map(drop)
        ),
        mistake!(
            "an unknown type of a column",
            InvalidArgument,
            "at columns[0].dataType",
            ["\"DOUBLE\"", "FLOAT64"],
            |_| from_json::<CreateTableRequest>(
                br#"{"columns":[{"name":"a","dataType":"DOUBLE"}]}"#
            )
            .map(drop)
        ),
        mistake!(
            "a text that is no continuation token",
            InvalidArgument,
            "at continuationToken",
            ["token"],
            |w| w.products(r#"{"continuationToken": "page2"}"#)
        ),
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
            "an unknown field of a projection",
            InvalidArgument,
            "at projection[0]",
            ["COST", "PART_NUMBER"],
            |w| w.products(r#"{"projection": ["COST"]}"#)
        ),
        mistake!(
            "a malformed file id",
            NotFound,
            "",
            ["not-an-id", "24 hexadecimal digits"],
            |w| w.session.open_file(&"not-an-id".into()).map(drop)
        ),
        mistake!("a file that does not exist", NotFound, "", ["there is no file"], |w| w
            .session
            .open_file(&"00000000-0000-4000-8000-000000000000".into())
            .map(drop)),
        mistake!(
            "a malformed product id",
            NotFound,
            "",
            ["there is no Product", "GUID with hyphens"],
            |w| w.session.get_product(&"x".into()).map(drop)
        ),
        mistake!(
            "a malformed work item id",
            NotFound,
            "",
            ["there is no work item", "decimal number"],
            |w| w.session.get_work_item(&"x".into()).map(drop)
        ),
        mistake!(
            "a malformed table id",
            InvalidArgument,
            "",
            ["24 hexadecimal digits in lower case"],
            |w| w.session.get_table_metadata(&"x".into()).map(drop)
        ),
        mistake!(
            "a feed without a platform",
            InvalidArgument,
            "at platform",
            ["needs a platform"],
            |w| w.session.create_feed(request(r#"{"name": "f"}"#)?).map(drop)
        ),
        mistake!(
            "a feed for an unknown platform",
            InvalidArgument,
            "at platform",
            ["WINDOWS"],
            |w| w
                .session
                .create_feed(request(r#"{"name": "f", "platform": "SOLARIS"}"#)?)
                .map(drop)
        ),
        mistake!(
            "a page of assets that is too large",
            InvalidArgument,
            "at take",
            ["-1 or from 0 to 1000"],
            |w| w.session.query_assets(request(r#"{"take": 5000}"#)?).map(drop)
        ),
        mistake!(
            "an upload with a malformed id",
            InvalidArgument,
            "at id",
            ["24 hexadecimal digits"],
            |w| {
                let file = request(r#"{"name": "a", "id": "part-7"}"#)?;
                w.session.upload_file(&mut &b"a"[..], file, &Control::default()).map(drop)
            }
        ),
        mistake!(
            "a change of a file that does not say whether it replaces",
            InvalidArgument,
            "at replaceExisting",
            ["required"],
            |_| request::<UpdateMetadataRequest>("{}").map(drop)
        ),
        mistake!(
            "a specification query without a product",
            InvalidArgument,
            "at productIds",
            ["at least one product"],
            |w| w.session.query_specs(request("{}")?).map(drop)
        ),
    ]
}
