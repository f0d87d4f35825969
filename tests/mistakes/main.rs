//! Mistakes that people make at a station, with what each is answered: the kind, the place, and a
//! message that says how to fix it.
//!
//! One line of a list is one mistake. A mistake that is accepted, or that is answered with other
//! words, fails; all failures are reported together.

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/imports.rs"]
mod imports;
mod others;
mod stores;
mod world;

use serde_json::json;
use stationdb::Result;
use world::World;

/// One mistake, and its answer.
#[derive(serde::Deserialize)]
struct Mistake {
    /// What somebody did.
    what: String,
    /// The name of the kind of the error.
    kind: String,
    /// The place as it is displayed; empty for none.
    #[serde(default)]
    place: String,
    /// Parts of the message: what is wrong, and the fix.
    says: Vec<String>,
    /// The operation and its arguments, for a mistake in the corpus.
    #[serde(default)]
    call: String,
    /// Does it, otherwise.
    #[serde(skip)]
    make: Option<fn(&World) -> Result<()>>,
}

#[derive(serde::Deserialize)]
struct Corpus {
    mistake: Vec<Mistake>,
}

impl Mistake {
    fn make(&self, world: &World) -> Result<()> {
        if let Some(make) = self.make {
            return make(world);
        }
        let (operation, arguments) = self.call.split_once(' ').unwrap();
        let ids = json!({"table": world.table, "closed": world.closed});
        let arguments = calls::filled(arguments, &[ids]);
        let answer = imports::import(&world.session, operation, &arguments);
        answer.unwrap_or_else(|| calls::call_whole(&world.session, operation, &arguments)).map(drop)
    }
}

/// `mistake!("what", Kind, "place", ["part", "of the message"], |world| …)`.
macro_rules! mistake {
    ($what:literal, $kind:ident, $place:literal, [$($says:literal),+ $(,)?], $make:expr $(,)?) => {
        crate::Mistake {
            what: $what.to_owned(),
            kind: format!("{:?}", stationdb::ErrorKind::$kind),
            place: $place.to_owned(),
            says: vec![$($says.to_owned()),+],
            call: String::new(),
            make: Some($make),
        }
    };
}
use mistake;

/// Least number of mistakes in the lists.
const LEAST: usize = 80;

/// All lists.
fn mistakes() -> Vec<Mistake> {
    let corpus: Corpus = toml::from_str(include_str!("../corpus/mistakes.toml")).unwrap();
    let lists = [stores::mistakes(), others::mistakes(), corpus.mistake];
    lists.into_iter().flatten().collect()
}

#[test]
fn each_mistake_is_answered_with_its_place_and_its_fix() {
    let world = World::new();
    let all = mistakes();
    assert!(all.len() >= LEAST, "{} mistakes are listed", all.len());
    let mut wrong = Vec::new();
    for mistake in &all {
        let error = match mistake.make(&world) {
            Ok(()) => {
                wrong.push(format!("{}: it was accepted", mistake.what));
                continue;
            }
            Err(error) => error,
        };
        let place = error.place().map(ToString::to_string).unwrap_or_default();
        let is_told = mistake.says.iter().all(|part| error.message().contains(part.as_str()));
        let kind = format!("{:?}", error.kind());
        if kind != mistake.kind || place != mistake.place || !is_told {
            wrong.push(format!("{}: {kind} {place:?} {:?}", mistake.what, error.message()));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn no_mistake_is_listed_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for Mistake { what, .. } in mistakes() {
        assert!(seen.insert(what.clone()), "{what} is listed twice");
    }
}
