//! Reads of a window of the index: what lies outside of it is not read, whatever else is asked.

use std::sync::atomic::Ordering;

use super::*;
use crate::arrow::array::{ArrayRef, Float64Array, Int64Array};
use crate::disk::CountingDisk;

const RUNS: usize = 12;
const ROWS: usize = 5000;

/// A table of runs that follow each other in the order of the index, beside the same with two late
/// runs that overlap the last of them.
struct Stored {
    schema: Arc<TableSchema>,
    counting: CountingDisk,
    metas: Vec<SegmentMeta>,
}

impl Stored {
    fn new(has_late: bool) -> Self {
        let columns = vec![
            column("t", DataType::Int64, ColumnType::Index),
            column("v", DataType::Float64, ColumnType::Normal),
            column("w", DataType::Int64, ColumnType::Normal),
        ];
        let schema = Arc::new(TableSchema::with_default_limit(columns).unwrap());
        let counting = CountingDisk::default();
        let disk: SharedDisk = Arc::new(counting.clone());
        disk.create_dir_all("t").unwrap();
        let run = |number: usize| {
            let first = number.min(RUNS - 1) * ROWS;
            let index: ArrayRef =
                Arc::new(Int64Array::from_iter_values((first..first + ROWS).map(|at| at as i64)));
            let wave = |at: usize| (at as f64 / 90.0).sin() * 50.0 + (at * 7919 % 31) as f64;
            let values = Float64Array::from_iter_values((first..first + ROWS).map(wave));
            let steps =
                Int64Array::from_iter_values((first..first + ROWS).map(|at| (at % 97) as i64));
            let arrays = vec![index, Arc::new(values), Arc::new(steps)];
            let batch = RecordBatch::try_new(schema.arrow().clone(), arrays).unwrap();
            MemoryRun::new(&schema, &[batch], (number * ROWS) as u64).unwrap()
        };
        let count = if has_late { RUNS + 2 } else { RUNS };
        let metas = (0..count)
            .map(|at| seal(&disk, &schema, at as u64 + 1, &run(at)).meta().clone())
            .collect();
        Self { schema, counting, metas }
    }

    /// A view of runs of which nothing was read but what opens them.
    fn view(&self, runs: impl IntoIterator<Item = usize>, deleted: &RangeSet) -> Arc<TableView> {
        let disk: SharedDisk = Arc::new(self.counting.clone());
        let open = |at: usize| {
            let meta = self.metas[at].clone();
            let segment = Segment::open(&disk, "t", meta, self.schema.clone()).unwrap();
            let run = Run::from(Arc::new(segment));
            let dead = run.rows_with(deleted).unwrap();
            run.without(dead)
        };
        Arc::new(TableView::new(self.schema.clone(), runs.into_iter().map(open).collect()))
    }

    /// The bytes that something reads.
    fn read(&self, what: impl FnOnce()) -> u64 {
        self.counting.read.store(0, Ordering::SeqCst);
        what();
        self.counting.read.load(Ordering::SeqCst)
    }

    fn predicates(&self, tests: &[(&str, FilterOperation, String)]) -> Arc<Predicates> {
        let filters: Vec<ColumnFilter> = tests
            .iter()
            .map(|(column, operation, value)| ColumnFilter {
                column: (*column).to_owned(),
                operation: *operation,
                value: Some(value.clone()),
            })
            .collect();
        Arc::new(Predicates::new(&self.schema, &filters).unwrap())
    }
}

fn decimation(method: DecimationMethod, distribution: DecimationDistribution) -> Decimation {
    let (budget, memory_bytes) = (Arc::default(), 1 << 20);
    Decimation { x: 0, y: vec![1], intervals: 20, method, distribution, memory_bytes, budget }
}

/// A row that was deleted outside of the window changes nothing, and one inside costs the part of a
/// block around it.
#[test]
fn deleted_rows_cost_a_decimation_nothing_elsewhere_and_little_inside() {
    use FilterOperation as Op;
    let stored = Stored::new(false);
    let window = stored.predicates(&[
        ("t", Op::GreaterThanEquals, (2 * ROWS + 700).to_string()),
        ("t", Op::LessThan, (9 * ROWS + 300).to_string()),
    ]);
    for (method, distribution) in [
        (DecimationMethod::MaxMin, DecimationDistribution::EqualFrequency),
        (DecimationMethod::MaxMin, DecimationDistribution::EqualWidth),
        (DecimationMethod::EntryExit, DecimationDistribution::EqualFrequency),
        (DecimationMethod::Lossy, DecimationDistribution::EqualFrequency),
    ] {
        let kept = |deleted: &RangeSet| {
            let view = stored.view(0..RUNS, deleted);
            let decimation = decimation(method, distribution);
            let mut rows = None;
            let bytes = stored.read(|| {
                let kept = decimate(&view, &decimation, &window, &[0, 1], &Control::default());
                rows = Some(batch_rows(&kept.unwrap()));
            });
            (bytes, rows.unwrap())
        };
        let (bytes, rows) = kept(&RangeSet::default());
        let last = 11 * ROWS as u64;
        let outside = RangeSet::new(vec![7..8, last..last + 9]);
        assert_eq!(kept(&outside), (bytes, rows.clone()), "{method:?} {distribution:?}");
        let inside = 5 * ROWS as u64 + 1500;
        let (more, others) = kept(&RangeSet::of_range(inside..inside + 3));
        assert!(
            more <= bytes + 40_000,
            "{method:?} {distribution:?}: {more} bytes, {bytes} before"
        );
        if method != DecimationMethod::Lossy {
            let is_same = |row: &&Cells| rows.contains(*row);
            assert!(others.iter().filter(is_same).count() * 2 > rows.len());
        }
    }
}

/// Every read of a window with another condition reads as much of the table as it reads of the runs
/// within the window alone.
#[test]
fn a_window_with_another_condition_reads_the_runs_within_it_alone() {
    use FilterOperation as Op;
    for has_late in [false, true] {
        let stored = Stored::new(has_late);
        let all = stored.metas.len();
        let predicates = || {
            stored.predicates(&[
                ("t", Op::GreaterThanEquals, (5 * ROWS + 700).to_string()),
                ("t", Op::LessThan, (7 * ROWS + 300).to_string()),
                ("v", Op::GreaterThan, "40".to_owned()),
            ])
        };
        let control = Control::default();
        let query = |order: Vec<OrderColumn>, spill: Option<SpillPlace>| RowQuery {
            columns: vec![0, 1],
            predicates: predicates(),
            order,
            take: spill.is_none().then_some(200),
            memory_bytes: 1 << 20,
            spill,
            ..RowQuery::default()
        };
        let by_value = || vec![OrderColumn { column: 1, descending: true }];
        let total = |view: &Arc<TableView>| {
            let terms = vec![Term { want: ColumnAggregate::Sum, column: Some(2) }];
            let predicates = predicates();
            let budget = Arc::default();
            let bounds = Bounds { groups: 10, bytes: 1 << 20, budget: &budget };
            let wanted = Aggregation { keys: Vec::new(), terms, predicates: &predicates, bounds };
            format!("{:?}", aggregate(view, &wanted, &control).unwrap().groups)
        };
        let streamed = |view: &Arc<TableView>, query: RowQuery| {
            let stream = RowStream::new(view.clone(), query, control.clone()).unwrap();
            format!("{:?}", all_rows(stream))
        };
        let page = |view: &Arc<TableView>, query: &RowQuery, after: Option<&After>| {
            format!("{:?}", batch_rows(&read_page(view, query, after, &control).unwrap().batch))
        };
        let place = || SpillPlace {
            disk: Arc::new(MemoryDisk::default()),
            dir: "tmp",
            numbers: Arc::default(),
            bytes_max: u64::MAX,
            reserve_bytes: 0,
        };
        let keep = |view: &Arc<TableView>, distribution| {
            let decimation = decimation(DecimationMethod::MaxMin, distribution);
            let kept = decimate(view, &decimation, &predicates(), &[0, 1], &control).unwrap();
            format!("{:?}", batch_rows(&kept))
        };
        let after = After::indexed(6 * ROWS as u64 + 9, 6 * ROWS as i64 + 9);
        type Read<'a> = Box<dyn Fn(&Arc<TableView>) -> String + 'a>;
        let reads: Vec<(&str, Read<'_>)> = vec![
            (
                "count",
                Box::new(|view| count_rows(view, &predicates(), &control).unwrap().to_string()),
            ),
            ("aggregate", Box::new(total)),
            ("stream", Box::new(|view| streamed(view, query(Vec::new(), None)))),
            ("ordered stream", Box::new(|view| streamed(view, query(by_value(), None)))),
            ("sort", Box::new(|view| streamed(view, query(by_value(), Some(place()))))),
            ("page", Box::new(|view| page(view, &query(Vec::new(), None), None))),
            ("later page", Box::new(|view| page(view, &query(Vec::new(), None), Some(&after)))),
            ("ordered page", Box::new(|view| page(view, &query(by_value(), None), None))),
            (
                "ordinals",
                Box::new(|view| {
                    format!("{:?}", matching(view, &predicates(), &control).unwrap().ranges())
                }),
            ),
            ("decimation", Box::new(|view| keep(view, DecimationDistribution::EqualFrequency))),
            (
                "decimation of widths",
                Box::new(|view| keep(view, DecimationDistribution::EqualWidth)),
            ),
        ];
        for (name, read) in reads {
            let look = |runs: Range<usize>| {
                let view = stored.view(runs, &RangeSet::default());
                let mut found = None;
                let bytes = stored.read(|| found = Some(read(&view)));
                (bytes, found.unwrap())
            };
            let (of_all, of_window) = (look(0..all), look(5..8));
            assert!(of_window.1.len() > 2, "{name}: {}", of_window.1);
            assert_eq!(of_all, of_window, "{name}, late runs: {has_late}");
        }
    }
}

/// Runs overlap in this table, but not within the window.
#[test]
fn runs_that_overlap_elsewhere_are_not_merged() {
    let stored = Stored::new(true);
    let view = stored.view(0..stored.metas.len(), &RangeSet::default());
    let window = stored.predicates(&[("t", FilterOperation::LessThan, "9000".to_owned())]);
    assert_eq!(view.overlapping_runs(), RUNS + 2);
    assert_eq!(view.overlapping_within(window.int_bounds(0)), 0);
    let mut scan =
        MergedScan::new(view.clone(), window, vec![0], None, Control::default()).unwrap();
    let mut next = 0;
    while let Some(chunk) = scan.next_chunk().unwrap() {
        let values = index_values(chunk.batch.column(0)).unwrap().into_owned();
        assert!(values.iter().copied().eq(next..next + values.len() as i64), "{next}");
        next += values.len() as i64;
    }
    assert_eq!(next, 9000);
}
