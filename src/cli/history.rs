//! Histories of real clusters on the command line: which workload reads one, and what is said of it.

use super::{common::Common, inputs::Inputs, output::Output, parts::count};
use crate::{
    pipeline::{AnyScenario, ReplayError, Survey},
    scenario::ScenarioInfo,
    spec::Spec,
    text::one_line,
    workload::duration,
};
use anyhow::{Result, bail};
use std::{collections::BTreeMap, path::Path};

/// A history: the scenario that reads it, and how it is written as a workload.
pub(super) struct Found {
    pub(super) scenario: &'static dyn AnyScenario,
    pub(super) workload: String,
    /// Other scenarios that read it too.
    pub(super) also: Vec<&'static str>,
}

/// The workload that a user means, who names a path, with parameters or without, or the workload itself; `None` if it is neither.
///
/// # Errors
///
/// A scenario that was asked for and does not read it.
pub(super) fn find(named: &str, common: &Common) -> Result<Option<Found>> {
    let asked = common.scenario.as_deref();
    let is_known = |name: &str| common.registry.iter().any(|s| s.workloads().iter().any(|w| w.name == name));
    let located = located(named).filter(|(path, _)| {
        // A file may be called as a workload is.
        Path::new(named) == *path || !named.parse::<Spec>().is_ok_and(|spec| is_known(&spec.name))
    });
    let mut all: Vec<(&'static dyn AnyScenario, String)> = match located {
        Some((path, params)) => {
            let params = match params {
                "" => BTreeMap::new(),
                params => match format!("file,{params}").parse::<Spec>() {
                    Ok(spec) => spec.params,
                    Err(_) => bail!("{}: expected PATH or PATH,key=value,...", one_line(named)),
                },
            };
            let spec = |name: &str| Spec { name: name.to_owned(), file: Some(path.to_owned()), params: params.clone() };
            let of = |scenario: &'static dyn AnyScenario| Some((scenario, spec(scenario.recognise(path)?).to_string()));
            common.registry.iter().filter_map(of).collect()
        }
        None => {
            let Ok(spec) = named.parse::<Spec>() else { return Ok(None) };
            let has = |scenario: &&dyn AnyScenario| scenario.workloads().iter().any(|w| w.name == spec.name);
            let all: Vec<&'static dyn AnyScenario> = common.registry.iter().filter(has).collect();
            let opens = |scenario: &&&'static dyn AnyScenario| scenario.same_jobs(named).is_ok();
            // Files of several scenarios go by one name. If none can open it, the first says why.
            let meant: Vec<_> = match (all.len(), asked) {
                (2.., None) => all.iter().filter(opens).copied().collect(),
                _ => all.clone(),
            };
            let meant = if meant.is_empty() { all } else { meant };
            meant.into_iter().map(|scenario| (scenario, named.to_owned())).collect()
        }
    };
    if let Some(asked) = asked {
        let names: Vec<&str> = all.iter().map(|(scenario, _)| scenario.info().name).collect();
        if !all.is_empty() && !names.contains(&asked) {
            bail!("{}: is read by the scenario {}, not by `{asked}`", one_line(named), names.join(" and "));
        }
        all.retain(|(scenario, _)| scenario.info().name == asked);
    }
    let mut all = all.into_iter();
    let Some((scenario, workload)) = all.next() else { return Ok(None) };
    Ok(Some(Found { scenario, workload, also: all.map(|(scenario, _)| scenario.info().name).collect() }))
}

/// The file or folder that is named, and parameters that follow it: `jobs.csv,size=64`.
pub(super) fn located(named: &str) -> Option<(&Path, &str)> {
    let (file, params) = match Path::new(named).exists() {
        true => (named, ""),
        false => named.split_once(',')?,
    };
    Path::new(file).exists().then_some((Path::new(file), params))
}

/// What a history is called: its file or folder, without those around it.
pub(super) fn name_of(named: &str) -> String {
    let path = match located(named) {
        Some((path, _)) => Some(path.to_owned()),
        None => named.parse::<Spec>().ok().and_then(|spec| spec.file),
    };
    let name = path.as_ref().and_then(|path| path.file_name());
    name.map_or_else(|| named.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// What a command reads that takes a history.
pub(super) fn inputs(named: &str) -> Inputs {
    match located(named) {
        Some((path, _)) => Inputs::default().anything(&path.to_owned()),
        None => Inputs::default().workloads([&named.to_owned()]),
    }
}

/// Says what a history is: how much, when, of what shape, what it lacks and what is assumed.
pub(super) fn describe(found: &Found, survey: &Survey, output: &mut Output) -> Result<()> {
    let info = found.scenario.info();
    output.text(format!("history, as a workload of `{}`: {}", info.name, one_line(&found.workload)))?;
    if !found.also.is_empty() {
        output.text(format!("`{}` can read it too: --scenario says which", found.also.join("` and `")))?;
    }
    output.text("")?;
    of_jobs(info, survey, output)
}

/// Says what jobs are, what is not known of them, and what is assumed.
pub(super) fn of_jobs(info: &ScenarioInfo, survey: &Survey, output: &mut Output) -> Result<()> {
    let mut line = |what: &str, words: &str| output.text(format!("  {what:<10} {words}"));
    line("jobs", &format!("{} in {}", survey.jobs, duration(survey.span_ms)))?;
    line("cluster", &count(survey.lanes as usize, info.lane))?;
    if let Some(mean) = survey.mean_load() {
        let most = survey.load.iter().copied().fold(0.0, f64::max);
        let percent = |x: f64| format!("{:.0} %", 100.0 * x);
        line("load", &format!("{} in the mean, {} where most work arrives", percent(mean), percent(most)))?;
        line("", &bars(&survey.load))?;
    }
    for (what, words) in &survey.shapes {
        line(what, words)?;
    }
    if !survey.notes.is_empty() {
        output.text("\nwhat it lacks, and what is assumed:")?;
        survey.notes.iter().try_for_each(|note| output.text(format!("  * {}", one_line(note))))?;
    }
    Ok(())
}

/// Says how far the simulator's times are from recorded ones.
pub(super) fn describe_replay(replay: Option<&ReplayError>, output: &mut Output) -> Result<()> {
    let Some(found) = replay else {
        return output.text(
            "\nreplay: no schedule is recorded that could be carried out again, so that the simulator cannot be checked against it: what schedulers save is so in \
             simulation only",
        );
    };
    output.text(format!("\n{}", replay_sentence(found)))?;
    output.text(format!(
        "  mean completion time {} as recorded, {} in the simulator ({:+.0} %); {} jobs",
        duration(found.recorded_ms),
        duration(found.simulated_ms),
        100.0 * found.of_mean(),
        found.jobs
    ))
}

/// What a replay comes to, as a sentence.
pub(super) fn replay_sentence(found: &ReplayError) -> String {
    format!(
        "replay: in the recorded order, the simulator's completion times are within {:.0} % of the recorded ones for half of the jobs and \
         within {:.0} % for nine in ten",
        100.0 * found.median,
        100.0 * found.p90
    )
}

/// A chart in one line: a bar for each number, the largest of which is full.
fn bars(numbers: &[f64]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = numbers.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // What is there at all is seen.
    let bar = |&x: &f64| BARS[if x > 0.0 { (8.0 * x / most).ceil().clamp(1.0, 8.0) as usize } else { 0 }];
    numbers.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_numbers_and_nothing_is_blank() {
        assert_eq!(bars(&[0.0, 0.01, 1.0, 2.0]), " ▁▄█");
        assert_eq!(bars(&[0.0, 0.0]), "  ");
    }
}
