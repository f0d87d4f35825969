//! Mistakes in filters.

use stationdb::prelude::*;

use crate::world::request;
use crate::{Mistake, mistake};

pub(crate) fn mistakes() -> Vec<Mistake> {
    vec![
        mistake!(
            "a number against a property",
            InvalidArgument,
            "at character 19",
            ["SafeConvert.ToInt64(properties[\"gain\"])"],
            |w| w.products(r#"{"filter": "properties[\"gain\"] > 3"}"#)
        ),
        mistake!(
            "a number against a text",
            InvalidArgument,
            "at character 5",
            ["SafeConvert.ToInt64(name)"],
            |w| w.products(r#"{"filter": "name == 3"}"#)
        ),
        mistake!("an unknown field", InvalidArgument, "at character 0", ["partNumber"], |w| w
            .products(r#"{"filter": "partNumbr == \"a\""}"#)),
        mistake!(
            "one equals sign in a row",
            InvalidArgument,
            "at character 7",
            ["found `=`"],
            |w| w.products(r#"{"filter": "name === \"a\""}"#)
        ),
        mistake!(
            "a text without its end",
            InvalidArgument,
            "at character 10",
            ["no closing"],
            |w| w.products(r#"{"filter": "name == \"a"}"#)
        ),
        mistake!(
            "a bracket without its end",
            InvalidArgument,
            "at character 12",
            ["expected `)`"],
            |w| w.products(r#"{"filter": "(name == \"a\""}"#)
        ),
        mistake!("an unknown method", InvalidArgument, "at character 5", ["Contains"], |w| w
            .products(r#"{"filter": "name.Contians(\"a\")"}"#)),
        mistake!(
            "a substitution without its value",
            InvalidArgument,
            "at character 8",
            ["@0", "substitutions"],
            |w| w.products(r#"{"filter": "name == @0"}"#)
        ),
        mistake!(
            "a time that is none",
            InvalidArgument,
            "at character 12",
            ["is not a date and time"],
            |w| w.products(r#"{"filter": "updatedAt > \"yesterday\""}"#)
        ),
        mistake!(
            "a filter without a condition",
            InvalidArgument,
            "at character 0",
            ["condition"],
            |w| w.products(r#"{"filter": "name"}"#)
        ),
        mistake!("a filter of SQL", InvalidArgument, "at character 5", ["Contains"], |w| w
            .products(r#"{"filter": "name LIKE \"a%\""}"#)),
        mistake!(
            "an unknown field of assets",
            InvalidArgument,
            "at character 0",
            ["serialNumber"],
            |w| w.session.query_assets(request(r#"{"filter": "serialNumbr == \"1\""}"#)?).map(drop)
        ),
        mistake!(
            "an unknown value of an enumeration in a filter",
            InvalidArgument,
            "at character 37",
            ["PRESENT"],
            |w| w
                .session
                .query_assets(request(
                    r#"{"filter": "location.assetState.assetPresence == \"THERE\""}"#
                )?)
                .map(drop)
        ),
        mistake!(
            "a substitution of assets without its value",
            InvalidArgument,
            "at character 13",
            ["@1"],
            |w| w
                .session
                .query_assets(request(r#"{"filter": "modelName == @1", "substitutions": ["a"]}"#)?)
                .map(drop)
        ),
        mistake!(
            "a substitution of specifications without its value",
            InvalidArgument,
            "at character 10",
            ["@0"],
            |w| w
                .session
                .query_specs(request(r#"{"productIds": ["AMP"], "filter": "specId == @0"}"#)?)
                .map(drop)
        ),
        mistake!(
            "a substitution that is a list",
            InvalidArgument,
            "at character 8",
            ["must not be a list"],
            |w| w.products(r#"{"filter": "name == @0", "substitutions": [["a"]]}"#)
        ),
        mistake!(
            "a filter of utilizations with a substitution",
            InvalidArgument,
            "at character 11",
            ["no substitutions"],
            |w| w
                .session
                .query_asset_utilization_history(request(
                    r#"{"utilizationFilter": "category = @0"}"#
                )?)
                .map(drop)
        ),
    ]
}
