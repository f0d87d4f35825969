//! A measurement in several units: the figures of one of them.

use serde_json::json;
use stationdb_sql::context;

use crate::common::{ada, ask, create};
use crate::open;

#[tokio::test(flavor = "multi_thread")]
async fn figures_are_of_the_units_that_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    let values = [("1.5", "V"), ("2.5", "V"), ("1500", "mV"), ("7", ""), ("8", ""), ("9", "")];
    for (value, units) in values {
        let result = json!({"programName": "P", "status": {"statusType": "PASSED"}});
        let parameter = json!({"name": "V", "measurement": value, "units": units});
        let step = |name: &str| json!({"name": name, "data": {"parameters": [parameter.clone()]}});
        create(&session, result, vec![step("s")]);
    }
    let sql = context(&session).unwrap();
    for (units, mean, count) in [("V", "2", 2), ("mV", "1500", 1), ("", "8", 3)] {
        let statement =
            format!("select n, cast(mean as bigint) from capability('', 's', 'V', '{units}')");
        assert_eq!(ask(&sql, &statement).await.unwrap(), [format!("{count} | {mean}")]);
        for ranges in ["2", "null"] {
            let ranges =
                format!("select sum(count) from histogram('', 's', 'V', {ranges}, '{units}')");
            assert_eq!(ask(&sql, &ranges).await.unwrap(), [count.to_string()]);
        }
        let points = format!("select count(*) from control_chart('', 's', 'V', null, '{units}')");
        assert_eq!(ask(&sql, &points).await.unwrap(), [count.to_string()]);
    }
    let means = "select cast(value as bigint) from control_chart('', 's', 'V', 2, 'V')";
    assert_eq!(ask(&sql, means).await.unwrap(), ["2"]);
    // Without units, and with null: the error names the argument that SQL has.
    for call in [
        "capability('', 's', 'V')",
        "capability('', 's', 'V', null)",
        "histogram('', 's', 'V')",
        "histogram('', 's', 'V', 3, null)",
        "control_chart('', 's', 'V', 2)",
    ] {
        let error = ask(&sql, &format!("select * from {call}")).await.unwrap_err();
        let told =
            "\"\" (3), \"V\" (2), \"mV\" (1); name one of them as the last argument, '' for none";
        assert!(error.contains(told), "{call}: {error}");
        assert!(!error.contains("at units"), "{call}: {error}");
    }
    for call in ["capability('', 's', 'V', 3)", "histogram('', 's', 'V', 3, 4)"] {
        let error = ask(&sql, &format!("select * from {call}")).await.unwrap_err();
        assert!(error.contains(" takes a filter") && error.contains("units"), "{call}: {error}");
    }
    let result = json!({"programName": "P", "status": {"statusType": "PASSED"}});
    let parameter = json!({"name": "V", "measurement": "1", "units": "V"});
    let step = json!({"name": "other", "data": {"parameters": [parameter]}});
    create(&session, result, vec![step]);
    let sql = context(&session).unwrap();
    let error = ask(&sql, "select n from capability('', '', 'V', 'V')").await.unwrap_err();
    assert!(error.contains("name a path as the second argument"), "{error}");
    assert!(!error.contains("anyPath") && !error.contains("stepName"), "{error}");
}
