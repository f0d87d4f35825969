//! Mistakes that people make at a station, with what each is answered: the kind, the place, and a
//! message that says how to fix it.
//!
//! One line of a list is one mistake. A mistake that is accepted, or that is answered with other
//! words, fails; all failures are reported together.

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/imports.rs"]
mod imports;
#[path = "../common/mistakes.rs"]
mod lists;
mod others;
#[path = "../common/rows.rs"]
mod rows;
mod stores;
mod world;

use serde_json::json;
use stationdb::Result;

use lists::Listed;
use world::World;

/// One mistake, and how it is made.
struct Mistake {
    listed: Listed,
    /// Does it, if it is no call with JSON.
    make: Option<fn(&World) -> Result<()>>,
}

impl Mistake {
    fn make(&self, world: &World) -> Result<()> {
        if let Some(make) = self.make {
            return make(world);
        }
        let (operation, arguments) = self.listed.call.split_once(' ').unwrap();
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
            listed: crate::lists::Listed {
                what: $what.to_owned(),
                kind: format!("{:?}", stationdb::ErrorKind::$kind),
                place: $place.to_owned(),
                says: vec![$($says.to_owned()),+],
                call: String::new(),
            },
            make: Some($make),
        }
    };
}
use mistake;

/// Least number of mistakes in the lists.
const LEAST: usize = 80;

#[test]
fn each_mistake_is_answered_with_its_place_and_its_fix() {
    let world = World::new();
    let corpus = lists::listed(include_str!("../corpus/mistakes.toml"));
    let corpus = corpus.into_iter().map(|listed| Mistake { listed, make: None });
    let lists = [stores::mistakes(), others::mistakes(), corpus.collect()];
    let all: Vec<Mistake> = lists.into_iter().flatten().collect();
    let answers = all.iter().map(|mistake| (&mistake.listed, mistake.make(&world)));
    lists::assert_answered(answers, LEAST);
}
