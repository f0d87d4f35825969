//! Mistakes that people make at a station, with what each is answered: the kind, the place, and a
//! message that says how to fix it.
//!
//! One line of a list is one mistake. A mistake that is accepted, or that is answered with other
//! words, fails; all failures are reported together.

mod filters;
mod imports;
mod items;
mod requests;
mod rows;
mod stores;
mod world;

use stationdb::{ErrorKind, Result};
use world::World;

/// One mistake, and its answer.
struct Mistake {
    /// What somebody did.
    what: &'static str,
    /// Does it.
    make: fn(&World) -> Result<()>,
    kind: ErrorKind,
    /// The place as it is displayed; empty for none.
    place: &'static str,
    /// Parts of the message: what is wrong, and the fix.
    says: &'static [&'static str],
}

/// `mistake!("what", Kind, "place", ["part", "of the message"], |world| …)`.
macro_rules! mistake {
    ($what:literal, $kind:ident, $place:literal, [$($says:literal),+ $(,)?], $make:expr $(,)?) => {
        crate::Mistake {
            what: $what,
            make: $make,
            kind: stationdb::ErrorKind::$kind,
            place: $place,
            says: &[$($says),+],
        }
    };
}
use mistake;

/// Least number of mistakes in the lists.
const LEAST: usize = 80;

/// All lists.
fn mistakes() -> Vec<Mistake> {
    let lists = [
        stores::mistakes(),
        requests::mistakes(),
        filters::mistakes(),
        items::mistakes(),
        rows::mistakes(),
        imports::mistakes(),
    ];
    lists.into_iter().flatten().collect()
}

#[test]
fn each_mistake_is_answered_with_its_place_and_its_fix() {
    let world = World::new();
    let all = mistakes();
    assert!(all.len() >= LEAST, "{} mistakes are listed", all.len());
    let mut wrong = Vec::new();
    for mistake in &all {
        let error = match (mistake.make)(&world) {
            Ok(()) => {
                wrong.push(format!("{}: it was accepted", mistake.what));
                continue;
            }
            Err(error) => error,
        };
        let place = error.place().map(ToString::to_string).unwrap_or_default();
        let is_told = mistake.says.iter().all(|part| error.message().contains(part));
        if error.kind() != mistake.kind || place != mistake.place || !is_told {
            wrong.push(format!(
                "{}: {:?} {place:?} {:?}",
                mistake.what,
                error.kind(),
                error.message()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn no_mistake_is_listed_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for mistake in mistakes() {
        assert!(seen.insert(mistake.what), "{} is listed twice", mistake.what);
    }
}
