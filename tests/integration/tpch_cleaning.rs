//! The TPC-H profiles are cleaned as the reference does it.

use crate::common::reference;
use sched_distill::dag::workload::{SIZES, TpchProfiles};
use serde_json::Value;

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn task_counts_and_rough_durations_equal_the_derived_table() {
    let profiles = TpchProfiles::load(&reference("tpch/tpch_profiles.json.gz"), 1000.0).unwrap();
    let text = std::fs::read_to_string(reference("tpch/tpch_derived.json")).unwrap();
    let derived: Value = serde_json::from_str(&text).unwrap();
    let rows = derived["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1414);
    for row in rows {
        let job = profiles.job(row[0].as_u64().unwrap() as u32, row[1].as_str().unwrap()).unwrap();
        let stage = &job.stages()[row[2].as_u64().unwrap() as usize];
        assert_eq!(u64::from(stage.num_tasks), row[3].as_u64().unwrap(), "{row}");
        let rough = row[4].as_f64().unwrap();
        assert!((stage.rough_ms - rough).abs() <= 1e-9 * rough, "{row}: {}", stage.rough_ms);
    }
    assert_eq!(profiles.jobs().len(), 22 * SIZES.len());
}
