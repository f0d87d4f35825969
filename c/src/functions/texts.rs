//! Texts that the interface returns, and those of errors.

use std::sync::Arc;

use stationdb::by_name::operations;
use stationdb::serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::json;
use crate::memory::{In, Out};
use crate::registry::{self, Object};

/// The number of this interface. It grows when functions come, and never means another one.
const ABI: i32 = 4;

/// Keeps a text. Returns its handle.
pub fn put(text: String) -> Outcome<u64> {
    registry::put(Object::Text(Arc::new(text)))
}

/// Keeps the JSON of a report.
pub fn put_json(report: &impl serde::Serialize) -> Outcome<u64> {
    put(json::text(report)?)
}

/// What a handle of a text or an error says.
enum Said {
    Text(Arc<String>),
    Error(String),
}

impl Said {
    fn of(handle: u64) -> Outcome<Self> {
        match registry::object(handle, "a text or an error")? {
            Object::Text(text) => Ok(Self::Text(text)),
            Object::Error(failure) => Ok(Self::Error(failure.error.to_string())),
            _ => Err(Failure::handle(format!(
                "the handle {handle:#x} is neither that of a text nor of an error"
            ))),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Error(text) => text,
        }
    }
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Writes a text and a zero behind it, if there is room for one.
fn copy<T: Copy + Default>(
    what: &str,
    values: &[T],
    mut target: Out<T>,
    capacity: i64,
    written: Out<i64>,
) -> Outcome<()> {
    written.begin("length", length(values.len()))?;
    let mut buffer = target.buffer("buffer", capacity)?;
    if !buffer.write(0, values) {
        return Err(Failure::too_small(what, values.len(), buffer.capacity()));
    }
    // No room is no fault: the length is known.
    let _ = buffer.write(values.len(), &[T::default()]);
    Ok(())
}

export! {
    fn sdb_abi(abi: Out<i32>) {
        abi.begin("abi", ABI)
    }

    fn sdb_version(text: Out<u64>) {
        text.begin("text", 0)?;
        text.set(put(env!("CARGO_PKG_VERSION").to_owned())?);
        Ok(())
    }

    fn sdb_operations(text: Out<u64>) {
        text.begin("text", 0)?;
        let one = |one: &stationdb::by_name::OperationInfo| {
            json!({
                "name": one.name,
                "service": one.service,
                "writes": one.writes,
                "arguments": one.arguments,
                "refusal": one.refusal,
            })
        };
        let all: Vec<_> = operations().iter().map(one).collect();
        text.set(put_json(&all)?);
        Ok(())
    }

    fn sdb_text_length(text: u64, bytes: Out<i64>, units: Out<i64>) {
        bytes.begin("bytes", 0)?;
        let said = Said::of(text)?;
        bytes.set(length(said.text().len()));
        units.set(length(said.text().encode_utf16().count()));
        Ok(())
    }

    fn sdb_text_copy(text: u64, buffer: Out<u8>, capacity: i64, written: Out<i64>) {
        written.begin("length", 0)?;
        let said = Said::of(text)?;
        copy("bytes", said.text().as_bytes(), buffer, capacity, written)
    }

    fn sdb_text_copy_utf16(text: u64, buffer: Out<u16>, capacity: i64, written: Out<i64>) {
        written.begin("length", 0)?;
        let units: Vec<u16> = Said::of(text)?.text().encode_utf16().collect();
        copy("units of UTF-16", &units, buffer, capacity, written)
    }

    fn sdb_text_pointer(text: u64, pointer: Out<*const u8>, written: Out<i64>) {
        pointer.begin("pointer", std::ptr::null())?;
        written.begin("length", 0)?;
        match registry::object(text, "a text")? {
            Object::Text(text) => {
                // The registry keeps the text where it is until its handle is freed.
                pointer.set(text.as_ptr());
                written.set(length(text.len()));
                Ok(())
            }
            _ => Err(Failure::handle(format!("the handle {text:#x} is not that of a text"))),
        }
    }

    fn sdb_text_from_utf16(units: In<u16>, count: i64, text: Out<u64>) {
        text.begin("text", 0)?;
        text.set(put(units.text("units", count)?)?);
        Ok(())
    }

    fn sdb_error_code(failure: u64, code: Out<i32>) {
        code.begin("code", 0)?;
        code.set(registry::failure(failure)?.code);
        Ok(())
    }

    fn sdb_error_json(failure: u64, text: Out<u64>) {
        text.begin("text", 0)?;
        text.set(put(registry::failure(failure)?.json())?);
        Ok(())
    }
}
