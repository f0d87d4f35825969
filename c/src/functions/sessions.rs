//! Sessions, transactions, and calls of operations by their names.

use std::sync::Arc;

use stationdb::Error;

use crate::caller::{Caller, Spec};
use crate::control;
use crate::failure::Outcome;
use crate::functions::texts;
use crate::json;
use crate::memory::{In, Out};
use crate::registry::{self, Object};

fn spec(user: &str, options: &str) -> Outcome<Spec> {
    if user.is_empty() {
        return Err(Error::invalid("the user is empty; give the name of who acts").into());
    }
    let mut spec = Spec { user: user.to_owned(), ..Spec::default() };
    for (name, value) in json::options("options", options)? {
        match name.as_str() {
            "workspace" => spec.workspace = json::value(&name, value)?,
            "all_or_nothing" => spec.all_or_nothing = json::value(&name, value)?,
            "timeout_ms" => {
                spec.timeout = control::timeout(&name, json::value(&name, value)?)?;
            }
            _ => {
                return Err(Error::invalid(format!(
                    "there is no option {name:?} of a session; the options are workspace, \
                     allOrNothing and timeoutMs"
                ))
                .into());
            }
        }
    }
    Ok(spec)
}

fn session(store: u64, user: &str, options: &str) -> Outcome<u64> {
    let open = registry::store(store)?;
    let spec = spec(user, options)?;
    drop(open.call(None)?);
    registry::put(Object::Session(Arc::new(Caller::new(&open, spec))))
}

fn call(caller: u64, operation: &str, json: &str, control: u64) -> Outcome<u64> {
    let caller = registry::caller(caller)?;
    let watch = registry::optional_control(control)?;
    let begun = caller.begin_by_session(watch.as_deref())?;
    texts::put(begun.services().call_by_name(operation, json)?)
}

export! {
    fn sdb_session(
        store: u64,
        user: In<u8>,
        user_length: i64,
        options: In<u8>,
        options_length: i64,
        session: Out<u64>,
    ) {
        session.begin("session", 0)?;
        let user = user.text("user", user_length)?;
        session.set(self::session(store, user, options.text("options", options_length)?)?);
        Ok(())
    }

    fn sdb_session_utf16(
        store: u64,
        user: In<u16>,
        user_length: i64,
        options: In<u16>,
        options_length: i64,
        session: Out<u64>,
    ) {
        session.begin("session", 0)?;
        let user = user.text("user", user_length)?;
        session.set(self::session(store, &user, &options.text("options", options_length)?)?);
        Ok(())
    }

    fn sdb_begin(session: u64, control: u64, transaction: Out<u64>) {
        transaction.begin("transaction", 0)?;
        let caller = registry::session(session)?;
        let watch = registry::optional_control(control)?;
        let begun = caller.begin(watch.as_deref())?;
        let within = caller.within(begun.session()?.begin()?);
        transaction.set(registry::put(Object::Transaction(Arc::new(within)))?);
        Ok(())
    }

    fn sdb_commit(transaction: u64) {
        registry::take_transaction(transaction)?.commit()
    }

    fn sdb_rollback(transaction: u64) {
        registry::take_transaction(transaction)?.end();
        Ok(())
    }

    fn sdb_call(
        caller: u64,
        operation: In<u8>,
        operation_length: i64,
        json: In<u8>,
        json_length: i64,
        control: u64,
        answer: Out<u64>,
    ) {
        answer.begin("answer", 0)?;
        let operation = operation.text("operation", operation_length)?;
        answer.set(call(caller, operation, json.text("json", json_length)?, control)?);
        Ok(())
    }

    fn sdb_call_utf16(
        caller: u64,
        operation: In<u16>,
        operation_length: i64,
        json: In<u16>,
        json_length: i64,
        control: u64,
        answer: Out<u64>,
    ) {
        answer.begin("answer", 0)?;
        let operation = operation.text("operation", operation_length)?;
        answer.set(call(caller, &operation, &json.text("json", json_length)?, control)?);
        Ok(())
    }
}
