//! What the page's scripts are given to decide again: the student, choices, and where its numbers stand.

use super::{Outcome, fixture::write_run};
use sched_distill::{
    explainer::WhatIf,
    model::{Guard, Student},
    report::write_report,
};
use serde_json::Value;
use std::{error::Error, fs, path::Path};

/// What the page holds, and the page.
fn data(dir: &Path) -> Result<(Option<Value>, String), Box<dyn Error>> {
    let html = fs::read_to_string(write_report(dir, &dir.join("report"))?.page)?;
    let Some((_, rest)) = html.split_once("id=\"what-if-data\">") else { return Ok((None, html)) };
    let text = rest.split("</script>").next().ok_or("its end")?;
    assert!(!text.contains('<'));
    let found = serde_json::from_str(text)?;
    Ok((Some(found), html))
}

#[test]
fn every_number_is_called_as_the_program_calls_it_and_found_where_the_page_looks() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let path = dir.path().join("student.json");
    let mut student = Student::load(&path)?;
    student.guards.push(Guard::parse("job: age > 30s and remaining_work > 5 first", &student.feature_set)?);
    // One level is scheduled by a sum of terms.
    student.levels[1].used = "linear".to_owned();
    student.save(&path)?;
    super::explained::explain(dir.path())?;
    let (found, html) = data(dir.path())?;
    let found = found.ok_or("the data")?;
    let mut names = Vec::new();
    for (level, of) in found["levels"].as_array().ok_or("levels")?.iter().zip(&student.levels) {
        assert_eq!(level["level"], of.level);
        for place in level["places"].as_array().ok_or("places")? {
            let name = place["place"].as_str().ok_or("a name")?;
            let now = student.number(&student.place(name)?);
            assert_eq!(now, place["now"].as_f64(), "{name}");
            let at = place["at"].as_array().ok_or("a way")?.iter().fold(&found["student"], |node, step| match step {
                Value::String(field) => &node[field.as_str()],
                step => &node[step.as_u64().unwrap_or(u64::MAX) as usize],
            });
            assert_eq!(at.as_f64(), now, "{name}");
            names.push(name.to_owned());
        }
    }
    let all: Vec<String> = student.places().iter().map(|p| student.place_name(p)).collect();
    assert!(all.len() > 80 && all.iter().all(|name| names.contains(name)) && names.len() == all.len());
    assert_eq!(html.matches("<details data-level=").count(), 3);
    for gone in ["provenance", "n_samples", "impurity", "models\":[{\"name\":\"tree\",\"temperature\":0.1}"] {
        assert!(!found["student"].to_string().contains(gone), "{gone}");
    }
    Ok(())
}

#[test]
fn a_run_without_choices_has_a_page_and_broken_choices_are_refused() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let path = dir.path().join("what_if.json");
    let good: WhatIf = serde_json::from_slice(&fs::read(&path)?)?;
    type Edit = fn(&mut WhatIf);
    let cases: [(Edit, &str); 6] = [
        (|w| w.format_version = 9, "format version 9 is not supported"),
        (|w| w.student = "77".into(), "it is about the student with SHA-256 77"),
        (|w| w.levels[0].level = "gpu".into(), "level `gpu` is not one of the student's"),
        (|w| w.levels[0].features[0] = "colour".into(), "level `job` has no feature `colour`"),
        (|w| w.levels[0].choices[0].best = 99, "it names candidate 99"),
        (|w| _ = w.levels[0].choices[0].columns.pop(), "it has not one value per candidate for each"),
    ];
    for (edit, expected) in cases {
        let mut broken = good.clone();
        edit(&mut broken);
        fs::write(&path, serde_json::to_vec(&broken)?)?;
        let error = write_report(dir.path(), &dir.path().join("report")).err().ok_or("it must be refused")?;
        assert!(error.to_string().contains("what_if.json: ") && error.to_string().contains(expected), "{error}");
    }
    fs::remove_file(&path)?;
    let (found, html) = data(dir.path())?;
    assert!(found.is_none() && !html.contains("data-level="));
    Ok(())
}
