//! W6: full-text search over 200,000 documents, each the description of a work item.
//!
//! The peers index plain documents and return ids. Here a document is a record of the store: an
//! insert makes it durable, and a hit reads the record and returns its name and workspace.

use std::collections::{HashMap, HashSet};

use stationdb::prelude::*;
use stationdb::search::SearchRequest;
use stationdb::work_items::CreateWorkItemRequest;
use stationdb::{Control, Identity, Session, Store};

use crate::common::{
    Res, Scale, anonymous_memory_mib, bytes_below, hash, median, quantile, timed, uniform,
};
use crate::words::word;

const VOCABULARY: usize = 50_000;
const BATCH: usize = 1_000;
const TOP: usize = 10;

struct Corpus {
    words: Vec<String>,
    /// Cumulative shares of the words up to each rank.
    shares: Vec<f64>,
}

impl Corpus {
    fn new() -> Self {
        let mut seen = HashSet::new();
        let words: Vec<String> = (0..)
            .map(|i| word(80, i, 3, 11))
            .filter(|word| seen.insert(word.clone()))
            .take(VOCABULARY)
            .collect();
        let mut sum = 0.0;
        let mut shares: Vec<f64> = (0..VOCABULARY)
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 1.0);
                sum
            })
            .collect();
        shares.iter_mut().for_each(|share| *share /= sum);
        Self { words, shares }
    }

    /// Ranks of the words of a document: 20 to 80 words, Zipf with s = 1.
    fn ranks(&self, document: u64) -> impl Iterator<Item = usize> + '_ {
        let count = 20 + hash(81, document) % 61;
        (0..count).map(move |at| {
            let drawn = uniform(82, document * 128 + at);
            self.shares.partition_point(|share| *share < drawn).min(VOCABULARY - 1)
        })
    }

    fn text(&self, document: u64) -> String {
        self.ranks(document).map(|rank| self.words[rank].as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Ranks of the distinct words of a query: log-uniform between 10 and 20,000.
    fn query(&self, terms: usize, number: u64) -> Vec<usize> {
        let mut ranks = Vec::with_capacity(terms);
        let mut draw = 0;
        while ranks.len() < terms {
            let rank =
                (10.0 * 2000f64.powf(uniform(83 + terms as u64, number * 16 + draw))) as usize;
            draw += 1;
            if !ranks.contains(&rank) {
                ranks.push(rank);
            }
        }
        ranks
    }
}

struct Query {
    ranks: Vec<usize>,
    is_and: bool,
}

impl Query {
    fn request(&self, corpus: &Corpus, with_count: bool) -> SearchRequest {
        let words: Vec<&str> = self.ranks.iter().map(|rank| corpus.words[*rank].as_str()).collect();
        SearchRequest::new()
            .text(words.join(if self.is_and { " AND " } else { " OR " }))
            .fields(["description"])
            .take(TOP as i64)
            .return_count(with_count)
    }

    /// Returns the documents that match the query, computed naively.
    fn matches<'d>(&self, documents: &'d HashMap<usize, HashSet<u64>>) -> HashSet<&'d u64> {
        let mut sets = self.ranks.iter().map(|rank| documents[rank].iter().collect::<HashSet<_>>());
        let first = sets.next().unwrap_or_default();
        sets.fold(first, |known, more| if self.is_and { &known & &more } else { &known | &more })
    }
}

/// Runs the workload.
pub fn run(scale: &Scale) -> Res<()> {
    let corpus = Corpus::new();
    let directory = scale.scratch("w6-stationdb")?;
    let store = Store::open(&directory)?;
    let session = store.session(Identity::user("bench"));
    let first = insert(scale, &corpus, &store, &session, &directory)?;
    let mut plain = 0.0;
    for (is_and, terms) in [(false, 1), (false, 2), (false, 3), (true, 2), (true, 3)] {
        let queries: Vec<Query> = (0..scale.queries as u64)
            .map(|number| Query { ranks: corpus.query(terms, number), is_and })
            .collect();
        check(scale, &corpus, &session, &queries, first)?;
        let name = format!("{}{terms}", if is_and { "and" } else { "or" });
        let top = latencies(scale, &corpus, &session, &queries, &format!("top10_{name}"), false)?;
        latencies(scale, &corpus, &session, &queries, &format!("top10+count_{name}"), true)?;
        if name == "or2" {
            plain = top;
        }
    }
    after_write(scale, &corpus, &session, plain)?;
    if let Some(mib) = anonymous_memory_mib() {
        scale.emit(
            "W6",
            "anonymous_memory",
            &[mib],
            "MiB",
            "at the end, of store and bench together",
        );
    }
    drop((session, store));
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Inserts the documents. Returns the id of the first.
fn insert(
    scale: &Scale,
    corpus: &Corpus,
    store: &Store,
    session: &Session,
    directory: &std::path::Path,
) -> Res<u64> {
    let mut first = 0;
    let mut seconds = 0.0;
    for start in (0..scale.documents).step_by(BATCH) {
        let document = |number: usize| {
            CreateWorkItemRequest::new()
                .name(String::new())
                .r#type("document")
                .description(corpus.text(number as u64))
        };
        let requests: Vec<_> =
            (start..(start + BATCH).min(scale.documents)).map(document).collect();
        let (took, answer) = timed(|| Ok(session.create_work_items(requests)?))?;
        seconds += took;
        assert!(answer.error.is_none(), "{:?}", answer.error);
        if start == 0 {
            first = answer.created_work_items[0].id.as_ref().ok_or("no id")?.as_str().parse()?;
        }
    }
    let ask = || SearchRequest::new().text("nosuchword");
    let (caught_up, found) = timed(|| Ok(session.search(ask())?))?;
    assert!(found.hits.is_empty());
    let rate = scale.documents as f64 / (seconds + caught_up);
    let note = format!(
        "durable records in batches of 1000, each a document: {seconds:.2} s, and {caught_up:.2} s until searchable"
    );
    scale.emit("W6", "index_docs_per_s", &[rate], "docs/s", &note);
    store.maintain(&Control::default())?;
    scale.emit(
        "W6",
        "disk",
        &[bytes_below(&directory.join("search")) as f64 / 1e6],
        "MB",
        "text index alone, without the records",
    );
    Ok(first)
}

/// Compares number and pages of the hits with a naive evaluation.
fn check(
    scale: &Scale,
    corpus: &Corpus,
    session: &Session,
    queries: &[Query],
    first: u64,
) -> Res<()> {
    let mut documents: HashMap<usize, HashSet<u64>> =
        queries.iter().flat_map(|query| &query.ranks).map(|rank| (*rank, HashSet::new())).collect();
    for document in 0..scale.documents as u64 {
        for rank in corpus.ranks(document) {
            if let Some(found) = documents.get_mut(&rank) {
                found.insert(document);
            }
        }
    }
    for query in queries {
        let expected = query.matches(&documents);
        let counted = session.search(query.request(corpus, true))?;
        assert_eq!(counted.total, Some(expected.len() as u64));
        assert_eq!(counted.hits.len(), expected.len().min(TOP));
        for hit in &counted.hits {
            assert!(expected.contains(&(hit.id.parse::<u64>()? - first)));
        }
        // The two scorers add in different orders, so scores may differ in the last digit.
        let plain = session.search(query.request(corpus, false))?.hits;
        assert_eq!(plain.len(), counted.hits.len());
        for (one, other) in plain.iter().zip(&counted.hits) {
            assert!((one.score - other.score).abs() < 1e-4, "counting changes no page");
        }
    }
    Ok(())
}

/// Runs the queries. Returns their mean time in microseconds.
fn latencies(
    scale: &Scale,
    corpus: &Corpus,
    session: &Session,
    queries: &[Query],
    name: &str,
    with_count: bool,
) -> Res<f64> {
    let (mut means, mut p99s) = (Vec::new(), Vec::new());
    for repetition in 0..4 {
        let mut micros = Vec::with_capacity(queries.len());
        for query in queries {
            let request = query.request(corpus, with_count);
            let (took, _) = timed(|| Ok(session.search(request)?))?;
            micros.push(took * 1e6);
        }
        if repetition > 0 {
            means.push(micros.iter().sum::<f64>() / micros.len() as f64);
            p99s.push(quantile(&micros, 0.99));
        }
    }
    let note = format!(
        "{} queries, 1 thread, hits with id, name and workspace from the records, warm",
        queries.len()
    );
    scale.emit("W6", &format!("{name}_mean"), &means, "us", &note);
    scale.emit("W6", &format!("{name}_p99"), &p99s, "us", &note);
    Ok(median(&means))
}

/// Measures a search directly after a write, which must find the new record.
fn after_write(scale: &Scale, corpus: &Corpus, session: &Session, plain: f64) -> Res<()> {
    let mut micros = Vec::new();
    for number in 0..50u64 {
        let query = Query { ranks: corpus.query(2, number), is_and: false };
        let request = CreateWorkItemRequest::new()
            .name("late")
            .r#type("document")
            .description(format!("late{number} {}", corpus.words[query.ranks[0]]));
        session.create_work_items(vec![request])?.require_all()?;
        let (took, _) = timed(|| Ok(session.search(query.request(corpus, false))?))?;
        micros.push(took * 1e6);
        let late = SearchRequest::new().text(format!("late{number}"));
        assert_eq!(
            session.search(late)?.hits.len(),
            1,
            "a search finds what was written before it"
        );
    }
    let note = format!("two words, OR; {plain:.0} us without a write before");
    scale.emit(
        "W6",
        "top10_or2_after_write_mean",
        &[micros.iter().sum::<f64>() / 50.0],
        "us",
        &note,
    );
    scale.emit("W6", "top10_or2_after_write_p99", &[quantile(&micros, 0.99)], "us", &note);
    Ok(())
}
