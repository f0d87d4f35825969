//! Mistakes with what each is answered: the kind, the place, and a message that says how to fix it.

use std::collections::BTreeSet;

use stationdb::Result;

/// One mistake, and its answer.
#[derive(serde::Deserialize)]
pub(crate) struct Listed {
    /// What somebody did.
    pub(crate) what: String,
    /// The name of the kind of the error.
    pub(crate) kind: String,
    /// The place as it is displayed; empty for none.
    #[serde(default)]
    pub(crate) place: String,
    /// Parts of the message: what is wrong, and the fix.
    pub(crate) says: Vec<String>,
    /// The operation and its arguments, for a mistake in a corpus.
    #[serde(default)]
    pub(crate) call: String,
}

/// The mistakes of a corpus.
pub(crate) fn listed(corpus: &str) -> Vec<Listed> {
    #[derive(serde::Deserialize)]
    struct Corpus {
        mistake: Vec<Listed>,
    }
    toml::from_str::<Corpus>(corpus).unwrap().mistake
}

/// What is wrong with the answer to a mistake, if anything.
fn wrong(mistake: &Listed, outcome: Result<()>) -> Option<String> {
    let Err(error) = outcome else {
        return Some(format!("{}: it was accepted", mistake.what));
    };
    let place = error.place().map(ToString::to_string).unwrap_or_default();
    let is_told = mistake.says.iter().all(|part| error.message().contains(part.as_str()));
    let kind = format!("{:?}", error.kind());
    (kind != mistake.kind || place != mistake.place || !is_told)
        .then(|| format!("{}: {kind} {place:?} {:?}", mistake.what, error.message()))
}

/// Makes all mistakes. Those that are accepted, or answered with other words, are reported together.
pub(crate) fn assert_answered<'m>(
    all: impl ExactSizeIterator<Item = (&'m Listed, Result<()>)>,
    least: usize,
) {
    let count = all.len();
    assert!(count >= least, "{count} mistakes are listed");
    let mut seen = BTreeSet::new();
    let judged = all.filter_map(|(mistake, outcome)| {
        assert!(seen.insert(&mistake.what), "{} is listed twice", mistake.what);
        wrong(mistake, outcome)
    });
    let wrong: Vec<String> = judged.collect();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
