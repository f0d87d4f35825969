//! The operations by their names: arguments and answers are JSON, as a server has them.

use std::io::Read;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::{Control, Error, Result, Session, from_json};

/// Reads an argument as a server reads a body.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T> {
    from_json(value.to_string().as_bytes())
}

pub(crate) fn wire(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Returns the store's own error that a reader wrapped in an I/O error.
pub(crate) fn own_error(error: std::io::Error) -> Error {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).cloned();
    own.unwrap_or_else(|| Error::io("reading", error))
}

/// The bytes of a content, as a text.
pub(crate) fn content(mut reader: impl Read) -> Result<Value> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(own_error)?;
    Ok(json!(String::from_utf8_lossy(&bytes)))
}

macro_rules! argument {
    (json, $value:expr) => {
        read(&$value)?
    };
    (id, $value:expr) => {
        &read(&$value)?
    };
    (text, $value:expr) => {
        &read::<String>(&$value)?
    };
    (bytes, $value:expr) => {
        &mut read::<String>(&$value)?.as_bytes()
    };
    (control, $value:expr) => {
        &Control::default()
    };
}

macro_rules! answer {
    (plain, $whole:expr, $answer:expr) => {
        wire($answer)
    };
    (batch, $whole:expr, $answer:expr) => {{
        let answer = $answer;
        if $whole {
            answer.into_result().map(drop)?;
            Value::Null
        } else {
            wire(answer)
        }
    }};
    (plan, $whole:expr, $answer:expr) => {{
        let plan = $answer;
        json!({"plan": wire(&plan), "text": plan.to_string()})
    }};
    (debug, $whole:expr, $answer:expr) => {
        json!(format!("{:?}", $answer))
    };
    (content, $whole:expr, $answer:expr) => {
        content($answer)?
    };
    (batches, $whole:expr, $answer:expr) => {
        $answer
            .map(|batch| Ok(json!(format!("{:?}", batch?))))
            .collect::<Result<Value>>()?
    };
}

macro_rules! operations {
    ($($form:ident $name:ident($($kind:ident),*);)*) => {
        fn dispatch(s: &Session, name: &str, arguments: &[Value], whole: bool) -> Result<Value> {
            let mut given = arguments.iter();
            let mut next = || given.next().cloned().unwrap_or_default();
            match name {
                $(stringify!($name) => {
                    Ok(answer!($form, whole, s.$name($(argument!($kind, next())),*)?))
                })*
                "export_table_data" => {
                    let mut out = Vec::new();
                    let (id, asked) = (read(&next())?, read(&next())?);
                    let rows = s.export_table_data(&id, asked, &mut out, &Control::default())?;
                    Ok(json!({"rows": rows, "text": String::from_utf8_lossy(&out)}))
                }
                "export_results" => {
                    let mut out = Vec::new();
                    let rows = s.export_results(read(&next())?, &mut out, &Control::default())?;
                    Ok(json!({"rows": rows, "text": String::from_utf8_lossy(&out)}))
                }
                "apply_result_retention" => {
                    let (policy, dry_run) = (read(&next())?, read(&next())?);
                    s.apply_result_retention(policy, dry_run, &Control::default()).map(wire)
                }
                "export_steps" => {
                    let mut out = Vec::new();
                    let rows = s.export_steps(read(&next())?, &mut out, &Control::default())?;
                    Ok(json!({"rows": rows, "text": String::from_utf8_lossy(&out)}))
                }
                "upload_file" => {
                    let (asked, text): (_, String) = (read(&next())?, read(&next())?);
                    s.upload_file(&mut text.as_bytes(), asked, &Control::default()).map(wire)
                }
                "download_file" | "download_package" => {
                    let (id, mut out) = (read::<String>(&next())?, Vec::new());
                    match name {
                        "download_file" => {
                            s.download_file(&id.into(), &mut out, &Control::default())?
                        }
                        _ => s.download_package(&id.into(), &mut out, &Control::default())?,
                    };
                    content(out.as_slice())
                }
                _ => panic!("no operation {name}"),
            }
        }
    };
}

operations! {
    plain product_api_info();
    batch create_products(json);
    plain get_product(id);
    plain get_products(json, json, json);
    plain query_products(json);
    plan explain_query_products(json);
    plain query_product_values(json);
    batch update_products(json, json);
    plain delete_product(id);
    batch delete_products(json);
    plain result_api_info();
    batch create_results(json);
    plain unfinished_runs();
    plain get_result(id);
    plain get_results(json, json, json);
    plain query_results(json);
    plain query_results_csv(json);
    plan explain_query_results(json);
    plain query_result_values(json);
    batch update_results(json, json, json);
    plain delete_result(id, json);
    batch delete_results(json, json);
    batch create_steps(json, json);
    plain get_steps(json, json, json);
    plain get_step(id, text);
    plain query_steps(json);
    plain query_steps_csv(json);
    plan explain_query_steps(json);
    plain query_step_values(json);
    batch update_steps(json, json, json, json);
    plain delete_step(id, text, json);
    batch delete_steps(json, json);
    plain get_paths(json, json, json);
    plain get_path(text);
    plain query_paths(json);
    plain yields(json, control);
    plain failure_pareto(json, control);
    plain capability(json, control);
    plain histogram(json, control);
    plain control_chart(json, control);
    plain gage(json, control);
    plain tables_of_result(id);
    plain specification_api_info();
    batch create_specs(json);
    plain query_specs(json);
    plan explain_query_specs(json);
    plain get_spec(id);
    batch update_specs(json);
    batch delete_specs(json);
    batch create_assets(json);
    plain get_asset(id);
    plain query_assets(json);
    plan explain_query_assets(json);
    batch update_assets(json);
    batch delete_assets(json);
    batch link_files(id, json);
    plain unlink_file(id, id);
    batch start_utilization(json);
    batch utilization_heartbeat(json, json);
    batch end_utilization(json, json);
    plain query_asset_utilization_history(json);
    plan explain_query_asset_utilization_history(json);
    plain assets_in_use();
    plain asset_summary();
    batch create_work_items(json);
    plain query_work_items(json);
    plan explain_query_work_items(json);
    plain get_work_item(id);
    batch update_work_items(json);
    batch schedule_work_items(json);
    batch delete_work_items(json);
    plain execute_work_item(id, text);
    batch create_work_item_templates(json);
    plain query_work_item_templates(json);
    plan explain_query_work_item_templates(json);
    batch update_work_item_templates(json);
    batch delete_work_item_templates(json);
    batch create_test_plans(json);
    batch delete_test_plans(json);
    plain query_test_plans(json);
    plan explain_query_test_plans(json);
    batch schedule_test_plans(json);
    batch update_test_plans(json);
    plain get_test_plan(id);
    batch create_test_plan_templates(json);
    plain query_test_plan_templates(json);
    plan explain_query_test_plan_templates(json);
    batch delete_test_plan_templates(json);
    plain table_api_info();
    plain list_tables(json);
    plain create_table(json);
    plain query_tables(json);
    plan explain_query_tables(json);
    plain get_table_metadata(id);
    plain modify_table(id, json);
    batch modify_tables(json);
    plain delete_table(id);
    batch delete_tables(json);
    plain add_columns(id, json);
    plain rename_columns(id, json);
    plain drop_columns(id, json);
    plain delete_rows(id, json);
    plain list_deleted_rows(id, json);
    plain set_retention(id, json);
    plain get_retention(id);
    plain delete_retention(id);
    plain get_table_data(id, json);
    plain append_table_data(id, json);
    debug read_waveforms(id, json, control);
    plan explain_query_table_data(id, json);
    plain table_statistics(id);
    plain column_numbers(id);
    plain query_table_data(id, json);
    plain aggregate_table_data(id, json);
    plain query_decimated_data(id, json);
    batches scan(id, json, control);
    plain file_api_info();
    plain get_files(json);
    plain query_files(json);
    plan explain_query_files(json);
    plain query_files_linq(json);
    plan explain_query_files_linq(json);
    plain search_files(json);
    plan explain_search_files(json);
    content open_file(id);
    plain update_metadata(id, json);
    plain delete_file(id);
    plain delete_files(json);
    plain start_upload_session(json);
    plain append_to_upload_session(id, json, bytes, json, control);
    plain query_upload_sessions();
    plain finish_upload_session(id, text, json);
    plain cancel_upload_session(id);
    plain create_feed(json);
    plain query_feeds(json);
    plain get_feed(id);
    plain update_feed(id, json);
    plain delete_feed(id);
    plain query_packages(id);
    plain get_package(id);
    plain delete_package(id);
    plain delete_packages(json);
    content open_package(id);
    plain packages_index(id);
    plain create_workspace(json);
    plain query_workspaces(json);
    plan explain_query_workspaces(json);
    plain set_quota(json);
    plain get_quota(text);
    plain list_quotas(json);
    plain delete_quota(text);
    plain delete_workspace(text);
    debug record_schema(json);
    plain aggregate_records(json);
    plain delete_records(json, control);
    plain import_records(json);
    batches scan_records(json, control);
    batches scan_steps(json, control);
    batches scan_measurements(json, control);
    plain search(json);
}

/// Calls an operation. A list of `arguments` that is too short ends with nulls.
#[allow(dead_code, reason = "not for the suite of mistakes")]
pub(crate) fn call(session: &Session, operation: &str, arguments: &[Value]) -> Result<Value> {
    dispatch(session, operation, arguments, false)
}

/// Calls an operation and fails where an item of its batch failed.
#[allow(dead_code, reason = "for the suites that ask for errors")]
pub(crate) fn call_whole(session: &Session, operation: &str, arguments: &[Value]) -> Result<Value> {
    dispatch(session, operation, arguments, true)
}

/// The arguments with these members in the places of their names.
#[allow(dead_code, reason = "for the suites with a list of calls")]
pub(crate) fn filled(arguments: &str, places: &[Value]) -> Vec<Value> {
    let mut text = arguments.to_owned();
    for (name, value) in places.iter().filter_map(Value::as_object).flatten() {
        text = text.replace(&format!("\"${name}\""), &value.to_string());
    }
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Makes the calls of a script, one a line: `name=/pointer operation arguments`. What is at the
/// pointer in the answer gets the name for the lines below, and is `"$name"` in arguments. A member
/// of `given` is also `<name>` inside of texts. No item of a batch may fail. Returns the names.
#[allow(dead_code, reason = "for the suites that fill a store")]
pub(crate) fn play(session: &Session, script: &str, given: Value) -> Value {
    let mut text = script.to_owned();
    for (name, value) in given.as_object().unwrap() {
        text = text.replace(&format!("<{name}>"), value.as_str().unwrap_or_default());
    }
    let mut names = given;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (head, arguments) = line.split_once(" [").unwrap();
        let mut words: Vec<&str> = head.split(' ').collect();
        let operation = words.pop().unwrap();
        let arguments = filled(&format!("[{arguments}"), std::slice::from_ref(&names));
        let answer = call(session, operation, &arguments)
            .unwrap_or_else(|error| panic!("{error} in {line}"));
        assert!(answer.get("error").is_none_or(Value::is_null), "{answer} to {line}");
        for word in words {
            let (name, pointer) = word.split_once('=').unwrap();
            let value = answer.pointer(pointer).unwrap_or_else(|| panic!("no {word} in {answer}"));
            names[name] = value.clone();
        }
    }
    names
}
