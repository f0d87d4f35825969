//! What an engineer asks the lake.

use stationdb_cluster::datafusion::arrow::array::{AsArray, RecordBatch};
use stationdb_cluster::datafusion::arrow::compute::cast;
use stationdb_cluster::datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use stationdb_cluster::datafusion::arrow::util::pretty::pretty_format_batches;
use stationdb_cluster::datafusion::prelude::SessionContext;

use crate::Outcome;

const YIELDS: &str = "\
select r.product, p.family, r.station, count(*) as tested, \
sum(case when r.passed then 0 else 1 end) as failed, \
round(100.0 * sum(case when r.passed then 1 else 0 end) / count(*), 2) as \"yield %\", \
round(max(r.gain_db), 2) as \"most dB\" from \
(select distinct part_number, family from products) p join \
(select _station as station, product, passed, gain_db from lake.gain) r \
on r.product = p.part_number group by r.product, p.family, r.station \
order by r.product, r.station";

/// The lowest and the highest gain of every five minutes of all stations.
const CURVE: &str = "\
select date_part('hour', bucket) + date_part('minute', bucket) / 60.0 as hour, low, high from \
(select date_bin(interval '5 minutes', t) as bucket, min(gain_db) as low, max(gain_db) as high \
from lake.gain group by bucket) c order by hour";

/// A point for each five minutes: the hour of the day, the lowest and the highest gain.
pub type Curve = Vec<(f64, f64, f64)>;

/// Prints the yield of each product at each station.
pub async fn yields(context: &SessionContext) -> Outcome {
    let batches = context.sql(YIELDS).await?.collect().await?;
    println!("\nyield by product and station:\n{}", pretty_format_batches(&batches)?);
    let (tested, failed) = (sum(&batches, "tested")?, sum(&batches, "failed")?);
    println!("{tested} units were tested, {failed} failed");
    Ok(())
}

fn sum(batches: &[RecordBatch], name: &str) -> Outcome<i64> {
    let mut sum = 0;
    for batch in batches {
        let column = batch.column_by_name(name).ok_or("a column is missing")?;
        let numbers = cast(column, &DataType::Int64)?;
        sum += numbers.as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
    }
    Ok(sum)
}

/// The curve of the day, decimated on the cluster.
pub async fn curve(context: &SessionContext) -> Outcome<Curve> {
    let batches = context.sql(CURVE).await?.collect().await?;
    let mut curve = Vec::new();
    for batch in &batches {
        let column = |at: usize| cast(batch.column(at), &DataType::Float64);
        let (hour, low, high) = (column(0)?, column(1)?, column(2)?);
        let [hour, low, high] = [&hour, &low, &high].map(|c| c.as_primitive::<Float64Type>());
        curve.extend((0..hour.len()).map(|row| (hour.value(row), low.value(row), high.value(row))));
    }
    let (first, last) = curve.first().zip(curve.last()).ok_or("the lake has no rows")?;
    println!(
        "\nthe gain from {:.2} h to {:.2} h in {} points, decimated on the cluster",
        first.0,
        last.0,
        curve.len()
    );
    Ok(curve)
}
