//! What is declared of each operation for its calls by name.

use crate::error::Result;
use crate::session::Handle;
use crate::value::argument::Body;

/// The name of an argument; what it is where it is not JSON.
type ArgumentForm = (&'static str, Option<&'static str>);

/// A method of a service, as `service!` declares it.
pub(crate) struct Declaration {
    pub service: &'static str,
    pub name: &'static str,
    pub writes: bool,
    pub arguments: fn() -> Vec<ArgumentForm>,
    /// What the answer is where it is not JSON.
    pub answer: fn() -> Option<&'static str>,
    pub call: fn(&Handle<'_>, &mut Body<'_>) -> Result<Reply>,
}

/// A service with its declarations.
pub(crate) trait Declared {
    const OPERATIONS: &'static [Declaration];
}

impl Declaration {
    /// Why it cannot be called by name.
    pub(in crate::services) fn refusal(&self) -> Option<String> {
        let argument = (self.arguments)().into_iter().find_map(|(name, form)| Some((name, form?)));
        let why = match argument {
            Some((name, form)) => format!("its argument `{name}` is {form}"),
            None => format!("its answer is {}", (self.answer)()?),
        };
        let Self { service, name, .. } = self;
        Some(format!(
            "{name} cannot be called by name: {why}, which JSON does not have; call \
             {service}::{name}"
        ))
    }
}

/// The answer of an operation that was called by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The status that a server sends it with, see [`Answer`](crate::Answer).
    pub status: u16,
    /// The answer in the wire form of its service; `null` for nothing, with the status 204.
    pub json: String,
}
