//! What an engineer asks the lake.

use stationdb_cluster::datafusion::arrow::array::{AsArray, RecordBatch};
use stationdb_cluster::datafusion::arrow::compute::cast;
use stationdb_cluster::datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use stationdb_cluster::datafusion::arrow::util::pretty::pretty_format_batches;
use stationdb_cluster::datafusion::prelude::SessionContext;

use stationdb_sql::LakeYields;

use crate::Outcome;

/// The greatest measurement of each product, and how many failed.
const MEASURED: &str = "\
select m.part_number, p.family, count(*) as measured, \
sum(case when m.status = 'Failed' then 1 else 0 end) as failed, \
round(max(m.value), 2) as \"most dB\" from measurements m join \
(select distinct part_number, family from products where family is not null) p \
on p.part_number = m.part_number \
where m.name = 'gain' group by m.part_number, p.family order by m.part_number";

/// The lowest and the highest gain of every five minutes of all stations.
const CURVE: &str = "\
select date_part('hour', bucket) + date_part('minute', bucket) / 60.0 as hour, low, high from \
(select date_bin(interval '5 minutes', t) as bucket, min(gain_db) as low, max(gain_db) as high \
from lake.gain group by bucket) c order by hour";

/// A point for each five minutes: the hour of the day, the lowest and the highest gain.
pub type Curve = Vec<(f64, f64, f64)>;

/// Prints the yield of each product at each station, and what was measured.
pub async fn yields(context: &SessionContext) -> Outcome {
    let batches = context.sql(&LakeYields::new().statement()?).await?.collect().await?;
    println!("\nyield by product and station:\n{}", pretty_format_batches(&batches)?);
    let figures = ["first_units", "units", "retests"].map(|name| sum(&batches, name));
    let [first, units, retests] = figures;
    println!("{} units were tested, {} have a last result, {} retests", first?, units?, retests?);
    let measured = context.sql(MEASURED).await?.collect().await?;
    println!("\nmeasurements of gain:\n{}", pretty_format_batches(&measured)?);
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
