//! Decimation of difficult signals: constants, ramps, steps, spikes at the edges of intervals; over
//! several blocks, sealed, merged and buffered.

use super::*;

#[derive(Clone, Copy, Debug)]
enum Shape {
    Constant,
    Ramp,
    Step,
    Spikes,
    Noise,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Ascending,
    Descending,
    Shuffled,
    Duplicates,
}

fn shape() -> impl Strategy<Value = (Shape, u64)> {
    let shape = prop_oneof![
        Just(Shape::Constant),
        Just(Shape::Ramp),
        Just(Shape::Step),
        Just(Shape::Spikes),
        Just(Shape::Noise)
    ];
    // The number of missing values in a thousand.
    (shape, prop_oneof![3 => Just(0u64), 1 => Just(30), 1 => Just(900), 1 => Just(1000)])
}

fn hash(at: u64, salt: u64) -> u64 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xc2b2_ae3d_27d4_eb4f))
        .wrapping_mul(0x1656_67b1_9e37_79f9)
        >> 20
}

/// The value of row `at` of `rows` in index order, with `intervals` intervals.
fn sample(shape: Shape, at: usize, rows: usize, intervals: usize) -> i64 {
    match shape {
        Shape::Constant => 7,
        Shape::Ramp => at as i64 - 100,
        Shape::Step => (at * 5 / rows.max(1)) as i64 * 10,
        Shape::Noise => (hash(at as u64, 3) % 200) as i64 - 100,
        Shape::Spikes => {
            let k = intervals.min(rows).max(1);
            let (len, longer) = (rows / k, rows % k);
            // The position inside its interval; the first `longer` intervals have one row more.
            let (inside, size) = if at < longer * (len + 1) {
                (at % (len + 1), len + 1)
            } else {
                ((at - longer * (len + 1)) % len.max(1), len)
            };
            match inside {
                0 => 1000,
                inside if inside + 1 == size => -1000,
                _ => 0,
            }
        }
    }
}

fn table(rows: usize, order: Order, shapes: &[(Shape, u64)], intervals: usize) -> Vec<Cells> {
    let mut positions: Vec<usize> = (0..rows).collect();
    match order {
        Order::Ascending | Order::Duplicates => {}
        Order::Descending => positions.reverse(),
        Order::Shuffled => positions.sort_by_key(|&at| hash(at as u64, 11)),
    }
    let cell = |column: usize, at: usize| -> Option<String> {
        let (shape, missing) = shapes[column];
        let is_missing = hash(at as u64, column as u64 + 77) % 1000 < missing;
        let value = sample(shape, at, rows, intervals);
        match column {
            // FLOAT64, INT32 and TIMESTAMP may be null; FLOAT32 is NaN instead; INT64 always has a
            // value.
            1 if is_missing => Some("NaN".to_owned()),
            0 | 2 | 4 if is_missing => None,
            4 => Some(time_cell(DataType::TimestampMicros, value)),
            _ => Some(value.to_string()),
        }
    };
    positions
        .into_iter()
        .map(|at| {
            let index = if matches!(order, Order::Duplicates) { at / 7 } else { at };
            let [f, g, n, m, t] = [0, 1, 2, 3, 4].map(|column| cell(column, at));
            vec![Some(index.to_string()), f, g, n, m, Some((at % 3 == 0).to_string()), None, t]
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn hard_signals_are_decimated_as_the_model_has_it(
        rows in prop_oneof![Just(1usize), Just(900), Just(1023), Just(1025), Just(2600), Just(4500)],
        order in prop_oneof![
            Just(Order::Ascending), Just(Order::Descending), Just(Order::Shuffled), Just(Order::Duplicates)],
        shapes in proptest::collection::vec(shape(), 5),
        y in proptest::sample::subsequence(vec![1usize, 2, 3, 4, 7], 1..=5),
        parts in 1usize..4,
        sealed in proptest::collection::vec(prop_oneof![3 => Just(true), 1 => Just(false)], 1..4),
        intervals in prop_oneof![1usize..12, 12usize..600, 600usize..5001],
        method in prop_oneof![
            1 => Just(DecimationMethod::Lossy), 3 => Just(DecimationMethod::MaxMin),
            3 => Just(DecimationMethod::EntryExit)],
        equal_width in prop_oneof![3 => Just(false), 1 => Just(true)],
        x in prop_oneof![4 => Just(0usize), 1 => Just(1), 1 => Just(4)],
        filter in 0usize..4,
        deleted in deleted(4500, 300),
    ) {
        let all = table(rows, order, &shapes, intervals);
        let appends: Vec<Vec<Cells>> = all.chunks(rows.div_ceil(parts)).map(<[Cells]>::to_vec).collect();
        let fixture = fixture(DataType::Int64, &appends, &sealed).without(&deleted);
        let test = |column: &str, operation, value: String| ColumnFilter {
            column: column.to_owned(), operation, value: Some(value),
        };
        use FilterOperation as Op;
        let filters = match filter {
            0 | 1 => vec![],
            2 => vec![
                test("i", Op::GreaterThan, (rows / 5).to_string()), test("i", Op::LessThanEquals, (rows / 2).to_string()),
            ],
            _ => vec![test("b", Op::Equals, "true".to_owned())],
        };
        let distribution =
            if equal_width { DecimationDistribution::EqualWidth } else { DecimationDistribution::EqualFrequency };
        let decimation = Decimation { x, y, intervals: intervals as u64, method, distribution, memory_bytes: 1 << 16, budget: Arc::default() };
        let predicates = Arc::new(Predicates::new(&fixture.schema, &filters).unwrap());
        let columns: Vec<usize> = (0..fixture.schema.len()).collect();
        let kept = decimate(&fixture.view, &decimation, &predicates, &columns, &Control::default()).unwrap();
        prop_assert_eq!(batch_rows(&kept), fixture.decimated(&filters, &decimation));
    }
}
