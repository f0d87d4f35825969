//! Tables of Parquet files, and answers as texts.

use std::path::Path;

use stationdb_cluster::datafusion::arrow::util::pretty::pretty_format_batches;
use stationdb_cluster::datafusion::dataframe::DataFrameWriteOptions;
use stationdb_cluster::datafusion::error::Result;
use stationdb_cluster::datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};

const FILES: usize = 12;

/// Writes `gain` with `rows` in each of twelve files, `products` and `odd`.
pub async fn write(lake: &Path, rows: usize) {
    let context = SessionContext::new();
    let file = |name: &str| lake.join(name).to_str().unwrap().to_owned();
    for station in 0..FILES {
        let statement = format!(
            "select 'station-' || {station} as station, value as row, value * 7919 % 1000003 as key, \
             'AMP-' || (value % 7) as product, value % 97 <> {station} as passed, \
             20.0 + (value % 64) / 32.0 as gain, \
             to_timestamp_micros(1767600000000000 + value * 1000000) as at, \
             case when value % 11 = 0 then null else value % 13 end as slot \
             from generate_series(1, {rows})"
        );
        write_one(&context, &statement, &file(&format!("gain/{station}.parquet"))).await;
    }
    let products = "select 'AMP-' || value as product, case when value % 2 = 0 then 'low' \
                    else 'high' end as family, value * 10 as price from generate_series(0, 8)";
    write_one(&context, products, &file("products/0.parquet")).await;
    let odd = "select * from (values (1, 'NaN'::double), (2, '-0.0'::double), (3, 'inf'::double), \
               (4, '-inf'::double), (5, 0.5), (6, null)) as odd(n, x)";
    write_one(&context, odd, &file("odd/0.parquet")).await;
}

async fn write_one(context: &SessionContext, statement: &str, path: &str) {
    let options = DataFrameWriteOptions::new().with_single_file_output(true);
    let frame = context.sql(statement).await.unwrap();
    frame.write_parquet(path, options, None).await.unwrap();
}

/// A context over the files, in this process.
pub async fn context(lake: &Path) -> SessionContext {
    let config = SessionConfig::new().with_information_schema(true).with_target_partitions(6);
    let context = SessionContext::new_with_config(config);
    for name in ["gain", "products", "odd"] {
        let directory = lake.join(name);
        let options = ParquetReadOptions::default();
        context.register_parquet(name, directory.to_str().unwrap(), options).await.unwrap();
    }
    context
}

pub async fn ask(context: &SessionContext, statement: &str) -> Result<String> {
    let batches = context.sql(statement).await?.collect().await?;
    Ok(pretty_format_batches(&batches)?.to_string())
}
