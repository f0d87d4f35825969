//! What the answers of operations are in JSON, by their types.

use std::any::TypeId;

use serde::Serialize;

use super::declaration::Reply;
use crate::arrow::datatypes::SchemaRef;
use crate::blobs::ContentReader;
use crate::columnar::RowStream;
use crate::error::{Error, Result};
use crate::model::answer::Answer;
use crate::model::bodies::{CreateTableResponse, SetSystemConnectionResponse, UploadFileResponse};
use crate::model::{FileId, TableId, WaveformData};
use crate::services::{ContentWriter, RecordStream};

/// An answer of an operation.
pub(crate) trait Answered: Sized + 'static {
    /// What it is where it is not JSON.
    fn other() -> Option<&'static str> {
        None
    }

    fn reply(self) -> Result<Reply>;
}

/// The answer in the result of a method.
pub(crate) trait OfResult {
    type Answer: Answered;
}

impl<T: Answered> OfResult for Result<T> {
    type Answer = T;
}

fn written(status: u16, answer: &impl Serialize) -> Result<Reply> {
    let json = serde_json::to_string(answer)
        .map_err(|error| Error::corrupt(format!("the answer has no JSON: {error}")))?;
    Ok(Reply { status, json })
}

impl<T: Answer + 'static> Answered for T {
    fn other() -> Option<&'static str> {
        // As JSON it would be a list of numbers.
        (TypeId::of::<Self>() == TypeId::of::<Vec<u8>>()).then_some("bytes")
    }

    fn reply(self) -> Result<Reply> {
        written(self.status(), &self)
    }
}

/// Answers that the wire has in a body of their own.
macro_rules! in_body {
    ($($type:ty => $body:expr;)*) => {
        $(impl Answered for $type {
            fn reply(self) -> Result<Reply> {
                let make: fn(Self) -> _ = $body;
                let body = make(self);
                written(body.status(), &body)
            }
        })*
    };
}

in_body! {
    TableId => CreateTableResponse::from;
    FileId => UploadFileResponse::from;
    u64 => |changed| SetSystemConnectionResponse::new().changed(changed);
}

/// Answers that JSON does not have. Calls with them are refused.
macro_rules! not_json {
    ($($type:ty = $form:literal;)*) => {
        $(impl Answered for $type {
            fn other() -> Option<&'static str> {
                Some($form)
            }

            fn reply(self) -> Result<Reply> {
                Err(Error::unsupported(concat!("the answer is ", $form)))
            }
        })*
    };
}

not_json! {
    Vec<WaveformData> = "waveforms in memory";
    String = "a text that is no JSON";
    SchemaRef = "an Arrow schema";
    RowStream = "a stream of Arrow batches";
    RecordStream = "a stream of Arrow batches";
    ContentReader = "a reader of bytes";
    ContentWriter = "a writer of bytes";
}
