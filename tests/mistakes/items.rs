//! Mistakes in items of batches. The error of the item stands in the message.

use stationdb::Control;
use stationdb::prelude::*;

use crate::world::request;
use crate::{Mistake, mistake};

pub(crate) fn mistakes() -> Vec<Mistake> {
    vec![
        mistake!(
            "a product without a part number",
            PartialFailure,
            "at [0].partNumber",
            ["item 1: a product needs a part number"],
            |w| w.session.create_products(request(r#"[{"name": "x"}]"#)?)?.into_result().map(drop)
        ),
        mistake!(
            "a part number that is taken",
            PartialFailure,
            "at [0]",
            ["AMP", "choose another number"],
            |w| w
                .session
                .create_products(request(r#"[{"partNumber": "AMP"}]"#)?)?
                .into_result()
                .map(drop)
        ),
        mistake!(
            "a product to update that does not exist",
            PartialFailure,
            "at [0]",
            ["there is no Product"],
            |w| w
                .session
                .update_products(request(r#"[{"id": "99", "name": "x"}]"#)?, false)?
                .into_result()
                .map(drop)
        ),
        mistake!(
            "a product to delete that does not exist",
            PartialFailure,
            "at [0]",
            ["there is no Product"],
            |w| w.session.delete_products(vec!["99".into()])?.into_result().map(drop)
        ),
        mistake!(
            "a specification whose minimum is above its maximum",
            PartialFailure,
            "at [0].limit.min",
            ["the minimum 21 is above the maximum 19", "swap"],
            |w| w
                .session
                .create_specs(request(
                    r#"{"specs": [{"productId": "AMP", "specId": "G",
                "type": "PARAMETRIC", "limit": {"min": 21, "max": 19}}]}"#
                )?)?
                .into_result()
                .map(drop)
        ),
        mistake!("a specification without a type", PartialFailure, "at [0].type", ["type"], |w| w
            .session
            .create_specs(request(r#"{"specs": [{"productId": "AMP", "specId": "G"}]}"#)?)?
            .into_result()
            .map(drop)),
        mistake!(
            "a specification without a product",
            PartialFailure,
            "at [0].productId",
            ["productId"],
            |w| w
                .session
                .create_specs(request(r#"{"specs": [{"specId": "G", "type": "FUNCTIONAL"}]}"#)?)?
                .into_result()
                .map(drop)
        ),
        mistake!(
            "an asset without a vendor",
            PartialFailure,
            "at [0].vendorName",
            ["vendor"],
            |w| w
                .session
                .create_assets(request(
                    r#"[{"modelName": "m", "serialNumber": "1",
                "location": {"state": {"assetPresence": "PRESENT"}}}]"#
                )?)?
                .into_result()
                .map(drop)
        ),
        mistake!(
            "an asset without a location",
            PartialFailure,
            "at [0].location.state.assetPresence",
            ["needs a location"],
            |w| w
                .session
                .create_assets(request(
                    r#"[{"modelName": "m", "vendorName": "v", "serialNumber": "1"}]"#
                )?)?
                .into_result()
                .map(drop)
        ),
        mistake!(
            "an asset to delete that does not exist",
            PartialFailure,
            "at [0]",
            ["there is no Asset"],
            |w| w.session.delete_assets(vec!["99".into()])?.into_result().map(drop)
        ),
        mistake!(
            "a file linked to an asset that does not exist",
            NotFound,
            "",
            ["there is no Asset"],
            |w| w.session.link_files(&"x".into(), vec!["y".into()]).map(drop)
        ),
        mistake!(
            "a work item to delete that does not exist",
            PartialFailure,
            "at [0]",
            ["there is no"],
            |w| w.session.delete_work_items(vec!["99".into()])?.into_result().map(drop)
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
            "a test plan to delete that does not exist",
            PartialFailure,
            "at [0]",
            ["there is no"],
            |w| w.session.delete_test_plans(vec!["99".into()])?.into_result().map(drop)
        ),
        mistake!(
            "a table to delete that does not exist",
            PartialFailure,
            "at [0]",
            ["24 hexadecimal digits"],
            |w| w.session.delete_tables(vec!["99".into()])?.into_result().map(drop)
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
            "four refused items",
            PartialFailure,
            "at [0].partNumber",
            ["4 of 5 items failed", "item 3", "and 1 more"],
            |w| w
                .session
                .create_products(request(r#"[{}, {}, {}, {}, {"partNumber": "OK-2"}]"#)?)?
                .into_result()
                .map(drop)
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
        mistake!(
            "a package to delete that does not exist",
            PartialFailure,
            "at [0]",
            ["item 1: there is no"],
            |w| w.session.delete_packages(vec!["x".into()])
        ),
    ]
}
