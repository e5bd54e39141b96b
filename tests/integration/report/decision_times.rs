//! How fast a student decides: on the first screen, of the very student that was timed.

use super::{Outcome, fixture::write_run, sentences::section};
use sched_distill::{
    evaluator::Role,
    pipeline::{DecisionTime, Latency},
    report::{ReportParams, write_report_with},
};
use std::{error::Error, fs};

#[test]
fn decision_times_are_shown_only_of_the_very_student() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let student = sched_distill::model::Student::load(&dir.path().join("student.json"))?.hash();
    let said = |student: &str, own_us: f64| -> Result<String, Box<dyn Error>> {
        let time = |policy: &str, role, median_us| DecisionTime { policy: policy.into(), role, median_us };
        let policies = vec![time("decima", Role::Teacher, 84.6), time("tree", Role::Student, own_us)];
        let latency = Latency { student: student.to_owned(), workload: "builtin".into(), decisions: 9, policies };
        fs::write(dir.path().join("latency.json"), serde_json::to_vec(&latency)?)?;
        let summary = write_report_with(dir.path(), &dir.path().join("report"), &ReportParams::default())?;
        Ok(section(&fs::read_to_string(summary.page)?, "first-screen"))
    };
    assert!(said(&student, 2.04)?.contains("41 × as fast as the teacher, decision by decision2 µs against 85 µs"));
    assert!(said("another", 2.04)?.contains("– as fast as the teacher"));
    // No clock measures that, and there is no ratio to it.
    for us in [0.0, 1e-320, 1e-300] {
        let said = said(&student, us)?;
        assert!(said.contains("– as fast as the teacher") && !said.contains("NaN"), "{said}");
    }
    Ok(())
}
