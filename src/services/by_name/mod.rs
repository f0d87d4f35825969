//! Operations by their names, with JSON for arguments and answers.
//!
//! The macro `service!` makes a [`Declaration`] of each method that it declares, from its signature
//! alone. What an argument or an answer is in JSON follows from its type (`argument`, `answer`).

mod answer;
mod argument;
mod declaration;

pub(crate) use answer::{Answered, OfResult};
pub(in crate::services) use argument::wire_rules;
pub use declaration::Reply;
pub(crate) use declaration::{Declaration, Declared};

pub(crate) use crate::value::argument::Argument;
