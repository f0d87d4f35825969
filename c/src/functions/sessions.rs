//! Sessions, transactions, and calls of operations by their names.

use std::sync::Arc;

use stationdb::Error;

use crate::caller::{Caller, Spec};
use crate::control;
use crate::failure::{Failure, Outcome};
use crate::functions::texts;
use crate::json;
use crate::memory::{In, Out};
use crate::open::Held as _;
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
    drop(open.call()?);
    registry::put(Object::Session(Arc::new(Caller::new(&open, spec))))
}

fn call(caller: u64, operation: &str, json: &str, control: u64) -> Outcome<u64> {
    let caller = registry::caller(caller)?;
    let watch = registry::optional_control(control)?;
    if watch.is_some() && caller.transaction.is_some() {
        return Err(Error::invalid(
            "a call in a transaction takes no control: that of sdb_begin is for all its calls; \
             pass 0",
        )
        .into());
    }
    let (call, handle, _) = caller.begin(watch.as_deref())?;
    let answer = handle.services().call_by_name(operation, json)?;
    drop((handle, call));
    texts::put(answer)
}

/// Ends a transaction; its handle is freed whatever becomes of it.
fn commit(transaction: u64) -> Outcome<()> {
    let caller = registry::take_transaction(transaction)?;
    let _call = caller.open.call()?;
    let Some(slot) = &caller.transaction else {
        return Err(Failure::internal("a transaction without its slot"));
    };
    match Arc::into_inner(slot.take()?) {
        Some(transaction) => transaction.commit().map_err(Failure::from),
        None => Err(Error::conflict(
            "another call of the transaction works, so it was rolled back; let its calls end \
             before sdb_commit",
        )
        .into()),
    }
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
        let (call, session, _) = caller.begin_session(watch.as_deref())?;
        let begun = caller.within(session.begin()?);
        drop((session, call));
        transaction.set(registry::put(Object::Transaction(Arc::new(begun)))?);
        Ok(())
    }

    fn sdb_commit(transaction: u64) {
        commit(transaction)
    }

    fn sdb_rollback(transaction: u64) {
        if let Some(slot) = &registry::take_transaction(transaction)?.transaction {
            slot.end();
        }
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
