//! The first screen: every sentence of the verdict with the evidence that it needs, and one case in which it must not be said; the
//! gates; what else stands there.

use super::{Outcome, fixture::write_run, sentences::section};
use rayon::prelude::*;
use sched_distill::{
    evaluator::{ClosedLoop, Estimate, Evaluation, FidelityRow, Role, Runs, VerdictGates, compare},
    figure::{COMPLETION_FIGURES, Figure},
    level::ALL_KINDS,
    report::{ReportParams, RunVerdict, write_report_with},
    trace::EpisodeFigures,
};
use std::{error::Error, fs, path::Path};

/// What a policy's completion time is to the teacher's in three episodes; 0 where it stalls.
type Ratios = [f64; 3];
type Policies = Vec<(&'static str, Role, Ratios)>;

/// A run: who took part on the usual workload, how the student does on others, and gates.
#[derive(Clone, Default)]
struct Case {
    usual: Policies,
    others: Vec<(&'static str, Ratios)>,
    gates: &'static [&'static str],
    /// Whether known rules make all of the teacher's choices.
    known: bool,
    /// How many times as long as the teacher's the student's jobs take, by episode; nothing is known of jobs without it.
    jobs: Option<Ratios>,
    /// How many times as long the smaller half of them takes, and the larger; sizes are not known without it.
    halves: Option<[f64; 2]>,
    /// How many times as long the augmented student's jobs take.
    augmented_jobs: Option<f64>,
    /// Whether the objective is a share of promises kept.
    is_share: bool,
}

const SHARES: &[Figure] = &[Figure::difference("on_time", "share on time", "share").more("Jobs on time ÷ jobs.")];

const FINE: Ratios = [1.0, 1.02, 1.01];
const TEACHER: (&str, Role, Ratios) = ("decima", Role::Teacher, [1.0; 3]);

fn student(ratios: Ratios) -> Case {
    let best = ("srpt-fair", Role::Heuristic, [1.1, 1.12, 1.11]);
    let fair = ("fair", Role::Heuristic, [2.0, 2.1, 1.9]);
    Case { usual: vec![TEACHER, ("tree", Role::Student, ratios), fair, best], ..Case::default() }
}

impl Case {
    fn and(mut self, policy: &'static str, role: Role, ratios: Ratios) -> Self {
        self.usual.push((policy, role, ratios));
        self
    }

    fn without(mut self, role: Role) -> Self {
        self.usual.retain(|p| p.1 != role);
        self
    }

    fn on(mut self, workload: &'static str, ratios: Ratios) -> Self {
        self.others.push((workload, ratios));
        self
    }

    fn gates(mut self, gates: &'static [&'static str]) -> Self {
        self.gates = gates;
        self
    }

    fn known(mut self) -> Self {
        self.known = true;
        self
    }

    /// The mean of jobs is told apart from theirs, so that the two may differ.
    fn jobs(mut self, ratios: Ratios) -> Self {
        self.jobs = Some(ratios);
        self
    }

    fn halves(mut self, smaller: f64, larger: f64) -> Self {
        (self.jobs, self.halves) = (Some([1.0; 3]), Some([smaller, larger]));
        self
    }

    fn share(mut self) -> Self {
        self.is_share = true;
        self
    }

    fn augmented_jobs(mut self, factor: f64) -> Self {
        self.augmented_jobs = Some(factor);
        self
    }

    /// Agreement as it was; of a known rule one more row for each level.
    fn fidelity(&self, before: &Evaluation) -> Vec<FidelityRow> {
        let mut rows = before.fidelity.clone();
        let mut levels: Vec<String> = rows.iter().map(|row| row.level.clone()).collect();
        levels.dedup();
        let top1 = Estimate { value: 1.0, low: 1.0, high: 1.0 };
        let row = |level| FidelityRow {
            level,
            kind: ALL_KINDS.to_owned(),
            scorer: "known".to_owned(),
            role: Role::Heuristic,
            top1,
            ..before.fidelity[0].clone()
        };
        rows.extend(levels.into_iter().filter(|_| self.known).map(row));
        rows
    }

    fn evaluation(&self, before: &Evaluation) -> Evaluation {
        let others = self.others.iter().map(|&(workload, ratios)| {
            let policies: Policies = vec![TEACHER, ("tree", Role::Student, ratios)];
            closed_loop(&Self { jobs: None, halves: None, ..self.clone() }, workload, &policies)
        });
        Evaluation {
            closed_loop: (!self.usual.is_empty()).then(|| closed_loop(self, "builtin", &self.usual)),
            other_workloads: others.collect(),
            fidelity: self.fidelity(before),
            ..before.clone()
        }
    }

    /// The verdict, and the words of the first screen.
    fn said(&self) -> Result<(RunVerdict, String), Box<dyn Error>> {
        let dir = tempfile::tempdir()?;
        write_run(dir.path(), |info, _, evaluation| {
            info.words = sched_distill::dag::feature::words();
            *evaluation = self.evaluation(evaluation);
        })?;
        without_what_takes_time(dir.path())?;
        let gates = self.gates.iter().try_fold(VerdictGates::default(), |gates, gate| gates.with(gate))?;
        let summary = write_report_with(
            dir.path(),
            &dir.path().join("report"),
            &ReportParams { gates, ..ReportParams::default() },
        )?;
        let html = fs::read_to_string(&summary.page)?;
        Ok((summary.verdict, section(&html, "first-screen")))
    }
}

fn without_what_takes_time(dir: &Path) -> Outcome {
    for name in ["schedules.json", "decisions.json", "what_if.json"] {
        fs::remove_file(dir.join(name))?;
    }
    Ok(())
}

fn closed_loop(case: &Case, workload: &str, policies: &[(&'static str, Role, Ratios)]) -> ClosedLoop {
    let &Case { jobs, halves, augmented_jobs, is_share, .. } = case;
    let of_jobs = |role: Role, episode: usize| {
        let of_half = |job: u32| halves.map_or(1.0, |halves| halves[usize::from(job > 51)]);
        let factor = |jobs: Ratios, job| match role {
            Role::Student => jobs[episode] * of_half(job),
            Role::Augmented => augmented_jobs.unwrap_or(1.0),
            _ => 1.0,
        };
        jobs.map_or(Vec::new(), |jobs| (1..=100).map(|job| Some(f64::from(job) * factor(jobs, job))).collect())
    };
    let (figures, scale) = if is_share { (SHARES, 0.5) } else { (COMPLETION_FIGURES, 1000.0) };
    let run = |role: Role, (episode, &ratio): (usize, &f64)| EpisodeFigures {
        figures: figures.iter().map(|_| (ratio > 0.0).then_some(scale * ratio)).collect(),
        stall: (ratio == 0.0).then_some(sched_distill::simulation::Stall::Stranded),
        empty: false,
        rejected: 0,
        longest_idle_ms: None,
        completion_times_ms: of_jobs(role, episode),
        sizes: if halves.is_some() { (1..=100).map(f64::from).collect() } else { Vec::new() },
    };
    let size = halves.map(|_| ("work", "ms"));
    let policies: Vec<(String, Role, Vec<EpisodeFigures>)> = policies
        .iter()
        .map(|(name, role, ratios)| {
            ((*name).to_owned(), *role, ratios.iter().enumerate().map(|of| run(*role, of)).collect())
        })
        .collect();
    compare(
        Runs { workload, split: "test", figures, size, looks: None, policies: &policies },
        &["decima".to_owned()],
        0,
    )
}

/// A sentence, a case with its evidence, and one in which it must not be said.
struct Pattern {
    says: &'static str,
    given: fn() -> Case,
    but: fn() -> Case,
}

const PATTERNS: [Pattern; 36] = [
    Pattern {
        says: "Jobs whose work is at most 51 ms take 1.030 × as long as under the teacher, larger ones 0.900 ×.",
        given: || student(FINE).halves(1.03, 0.9),
        but: || student(FINE).halves(1.03, 1.0),
    },
    Pattern {
        says: "Jobs whose work is at most 51 ms take 1.000 × as long as under the teacher, larger ones 1.200 ×.",
        given: || student(FINE).halves(1.0, 1.2),
        but: || student(FINE).halves(1.0, 1.04),
    },
    Pattern {
        says: "Jobs whose work is at most",
        given: || student([0.9, 0.91, 0.92]).halves(1.3, 0.9),
        but: || student(FINE).halves(1.3, 0.9).known().and("fifo", Role::Heuristic, [1.0; 3]),
    },
    Pattern {
        says: "Jobs whose work is at most",
        given: || student(FINE).without(Role::Heuristic).halves(1.2, 1.1),
        but: || student(FINE).without(Role::Heuristic).halves(1.2, 1.1).share(),
    },
    Pattern {
        says: "Those who wait longest wait longer: its p99 completion time is 1.300 × that of the teacher.",
        given: || student(FINE).jobs([1.3; 3]).gates(&["tail=2"]),
        but: || student(FINE).jobs([1.1; 3]).gates(&["tail=2"]),
    },
    Pattern {
        says: "Those who wait longest wait longer: its p99 completion time is 1.100 × that of the teacher.",
        given: || student([0.9, 0.91, 0.92]).jobs([1.1; 3]),
        but: || student([0.9, 0.91, 0.92]).jobs([1.0; 3]),
    },
    Pattern {
        says: "Those who wait longest wait less: its p99 completion time is 0.900 × that of the teacher.",
        given: || student([1.02, 1.03, 1.02]).jobs([0.9; 3]),
        but: || student([0.9, 0.91, 0.92]).jobs([0.9; 3]),
    },
    Pattern {
        says: "The student does not replace decima: its p99 completion time is 1.300 × that of the teacher, and the limit is 1.25.",
        given: || student(FINE).jobs([1.3; 3]),
        but: || student(FINE).jobs([1.2; 3]),
    },
    Pattern {
        says: "The student is not shown to replace decima: its p99 completion time is",
        given: || student(FINE).jobs([1.0, 1.2, 1.5]),
        but: || student(FINE).jobs([1.3; 3]),
    },
    Pattern {
        says: "On the usual workload the student replaces decima at 1.01 × its mean completion time",
        given: || student(FINE).on("other", [1.3; 3]),
        but: || student(FINE).on("other", FINE),
    },
    Pattern {
        says: "The student replaces decima at 1.01 × its mean completion time, 9 % better than the best heuristic tried, least work \
               left first, up to a fair share each (srpt-fair).",
        given: || student(FINE),
        but: || student(FINE).gates(&["teacher=1.015"]),
    },
    Pattern {
        says: "not clearly different from the best heuristic tried, first come, first served (fifo).",
        given: || student(FINE).and("fifo", Role::Heuristic, [1.0, 1.01, 1.05]),
        but: || student(FINE),
    },
    Pattern {
        says: "The student replaces decima at 1.01 × its mean completion time.",
        given: || student(FINE).without(Role::Heuristic),
        but: || student(FINE),
    },
    Pattern {
        says: "The student does not replace decima: its mean completion time is 1.200 × that of the teacher [1.190, 1.210], and the \
               limit is 1.050.",
        given: || student([1.2, 1.21, 1.19]),
        but: || student([1.2, 1.21, 1.19]).gates(&["teacher=1.3", "heuristic=1.3"]),
    },
    Pattern {
        says: "The student is not shown to replace decima: its mean completion time is 1.012 × that of the teacher [0.960, 1.080], \
               which reaches beyond the limit of 1.050; more episodes may settle it.",
        given: || student([1.0, 1.08, 0.96]),
        but: || student([1.0, 1.04, 0.96]),
    },
    Pattern {
        says: "The student need not replace decima: a known heuristic, first come, first served (fifo), does it as well or better; \
               against it the student's mean completion time is 1.063 × as much.",
        given: || student(FINE).and("fifo", Role::Heuristic, [0.95, 0.95, 0.95]),
        but: || student(FINE).and("fifo", Role::Heuristic, [1.05, 1.05, 1.05]),
    },
    Pattern {
        says: "Decima is a known rule, first come, first served (fifo): known rules make its choices in 100.0 %, and this one \
               schedules as well: 1.000 × its mean completion time. Use the rule; no student is needed.",
        given: || student(FINE).known().and("fifo", Role::Heuristic, [1.0; 3]),
        but: || student(FINE).and("fifo", Role::Heuristic, [1.0; 3]),
    },
    Pattern {
        says: "Use the rule; no student is needed.",
        given: || student(FINE).known().and("fifo", Role::Heuristic, [1.0, 1.005, 0.995]),
        but: || student(FINE).known().and("fifo", Role::Heuristic, [1.0, 1.05, 0.95]),
    },
    Pattern {
        says: "Decima itself is a known rule, first come, first served (fifo): known rules make its choices in 100.0 %.",
        given: || student([0.9; 3]).known().and("fifo", Role::Heuristic, [1.0; 3]),
        but: || student(FINE).known().and("fifo", Role::Heuristic, [1.0; 3]),
    },
    Pattern {
        says: "Without the edits that a search found it would be at 1.20 ×",
        given: || student(FINE).and("fitted", Role::Fitted, [1.2, 1.21, 1.19]),
        but: || student(FINE).and("fitted", Role::Augmented, [1.2, 1.21, 1.19]),
    },
    Pattern {
        says: "The student does not replace decima: it stalled in 1 of 3 episodes, where jobs never end.",
        given: || student([1.0, 0.0, 1.0]),
        but: || student([1.0, 1.0, 1.0]),
    },
    Pattern {
        says: "The student cannot be measured against decima, which stalled.",
        given: || Case {
            usual: vec![("decima", Role::Teacher, [1.0, 0.0, 1.0]), ("tree", Role::Student, FINE)],
            ..Case::default()
        },
        but: || student(FINE),
    },
    Pattern {
        says: "Not tried as a scheduler: whether the student may replace decima is open.",
        given: Case::default,
        but: || student(FINE),
    },
    Pattern {
        says: "Its augmented version is better than the teacher: 0.96 × [0.950, 0.970].",
        given: || student(FINE).and("more", Role::Augmented, [0.96, 0.97, 0.95]),
        but: || student(FINE).and("more", Role::Augmented, [0.96, 1.01, 0.95]),
    },
    Pattern {
        says: "Its augmented version stalled in 1 of 3 episodes.",
        given: || student(FINE).and("more", Role::Augmented, [0.96, 0.0, 0.95]),
        but: || student(FINE).and("more", Role::Augmented, [0.96, 0.97, 0.95]),
    },
    Pattern {
        says: "Take its augmented version: it keeps all gates, and its mean completion time is clearly the best.",
        given: || student(FINE).and("more", Role::Augmented, [0.96, 0.97, 0.95]),
        but: || student(FINE).and("more", Role::Augmented, FINE),
    },
    Pattern {
        says: "Take the student: of the 2 that keep all gates and whose mean completion time may be as good as the best, it is the \
               smallest.",
        given: || student(FINE).and("more", Role::Augmented, FINE),
        but: || student(FINE),
    },
    Pattern {
        says: "Take its augmented version: it alone keeps all gates.",
        given: || student([1.2; 3]).and("more", Role::Augmented, FINE),
        but: || student(FINE).and("more", Role::Augmented, [0.96, 0.97, 0.95]),
    },
    Pattern {
        says: "None of them keeps all gates. On the usual workload take the student, but not where one giant job shares the cluster.",
        given: || student(FINE).on("builtin,edge=giant", [1.86; 3]).and("more", Role::Augmented, [1.2; 3]),
        but: || {
            student(FINE)
                .on("builtin,edge=giant", [1.86; 3])
                .and("more", Role::Augmented, [1.2; 3])
                .gates(&["elsewhere=1.9"])
        },
    },
    Pattern {
        says: "Take neither: none keeps the gates on the usual workload.",
        given: || student([1.2; 3]).and("more", Role::Augmented, [1.3; 3]),
        but: || student([1.2; 3]).and("more", Role::Augmented, FINE),
    },
    Pattern {
        says: "Do not use the student where one giant job shares the cluster: 1.86 ×.",
        given: || student(FINE).on("builtin,edge=giant", [1.86; 3]).and("more", Role::Augmented, FINE),
        but: || student(FINE).on("builtin,edge=giant", [1.86; 3]),
    },
    Pattern {
        says: "No other workload was tried.",
        given: || student(FINE),
        but: || student(FINE).on("builtin,edge=giant", FINE),
    },
    Pattern {
        says: "The one other workload tried is where executors=25: 1.20 ×.",
        given: || student(FINE).on("builtin,executors=25", [1.2; 3]),
        but: || student(FINE).on("other", [1.2; 3]),
    },
    Pattern {
        says: "The worst of 2 other workloads is where jobs arrive in bursts of ten: 1.20 ×.",
        given: || student(FINE).on("builtin,edge=giant", FINE).on("builtin,edge=bursts", [1.2; 3]),
        but: || {
            student(FINE).on("builtin,edge=giant", FINE).on("builtin,edge=bursts", [1.2; 3]).gates(&["elsewhere=1.1"])
        },
    },
    Pattern {
        says: "Do not use it where one giant job shares the cluster: 1.86 ×.",
        given: || student(FINE).on("builtin,edge=giant", [1.86; 3]).on("builtin,edge=bursts", [1.2; 3]),
        but: || student(FINE).on("builtin,edge=giant", [1.86; 3]).gates(&["elsewhere=1.9"]),
    },
    Pattern {
        says: "Do not use it on other: it strands the cluster.",
        given: || student(FINE).on("other", [1.0, 0.0, 1.0]),
        but: || student(FINE).on("other", FINE),
    },
];

#[test]
fn every_sentence_of_the_verdict_is_said_with_its_evidence_and_not_without() -> Outcome {
    let check = |pattern: &Pattern| -> Result<(), String> {
        let said = |case: fn() -> Case| case().said().map(|(verdict, _)| verdict.text.replace('\u{a0}', " "));
        let said = |case| said(case).map_err(|e| format!("{}: {e}", pattern.says));
        let (given, but) = (said(pattern.given)?, said(pattern.but)?);
        match (given.contains(pattern.says), but.contains(pattern.says)) {
            (true, false) => Ok(()),
            (false, _) => Err(format!("not said: {}\n{given}", pattern.says)),
            (true, true) => Err(format!("said without evidence: {}\n{but}", pattern.says)),
        }
    };
    let wrong: Vec<String> = PATTERNS.par_iter().filter_map(|pattern| check(pattern).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

#[test]
fn the_advice_is_part_of_the_verdict_and_the_same() -> Outcome {
    let (verdict, _) = student(FINE).and("more", Role::Augmented, [0.96, 0.97, 0.95]).said()?;
    let advice = verdict.advice.ok_or("two students")?;
    assert_eq!(verdict.take.as_deref(), Some("augmented"), "the one that the demo's next commands are about");
    assert!(advice.starts_with("Take ") && verdict.text.ends_with(&advice), "{advice}: {}", verdict.text);
    let (verdict, _) = student(FINE).and("more", Role::Augmented, FINE).said()?;
    assert!(verdict.advice.is_some() && verdict.take.is_none(), "the run's own");
    let (verdict, _) = student(FINE).said()?;
    assert!(verdict.advice.is_none() && !verdict.text.contains("Take "), "{}", verdict.text);
    assert_eq!(verdict.instead, None);
    // A rule leaves no student to take, unless another one is surely better than it.
    let known = || student(FINE).known().and("fifo", Role::Heuristic, [1.0; 3]);
    let (verdict, _) = known().and("more", Role::Augmented, [1.2; 3]).said()?;
    assert_eq!((verdict.instead.as_deref(), verdict.take, verdict.advice), (Some("fifo"), None, None));
    assert!(verdict.text.contains("Use the rule"), "{}", verdict.text);
    // One that is surely better than the rule is to be taken, and then nothing says to use the rule.
    let (verdict, _) = known().and("more", Role::Augmented, [0.9; 3]).said()?;
    assert_eq!((verdict.instead.as_deref(), verdict.take.as_deref()), (None, Some("augmented")));
    assert!(!verdict.text.contains("Use the rule"), "{}", verdict.text);
    assert!(verdict.text.contains("Decima itself is a known rule"), "{}", verdict.text);
    let worse = student(FINE).and("fifo", Role::Heuristic, [0.95; 3]);
    assert_eq!(worse.said()?.0.instead.as_deref(), Some("fifo"));
    // Where promises kept are counted, tails have no limit, and are not paid for the last of them all the same.
    let share = |factor| {
        let case = student(FINE).share().without(Role::Heuristic).jobs([1.0; 3]).augmented_jobs(factor);
        case.and("more", Role::Augmented, [1.1; 3]).said()
    };
    assert_eq!(share(1.2)?.0.take.as_deref(), Some("augmented"));
    let (verdict, _) = share(1.3)?;
    let alone = "it alone keeps all gates without making the p99 completion time more than 1.25";
    assert!(verdict.take.is_none() && verdict.text.contains(alone), "{}", verdict.text);
    // A rule that is no good itself replaces nobody.
    let both_bad = student([1.3; 3]).and("fifo", Role::Heuristic, [1.2; 3]);
    assert_eq!(both_bad.said()?.0.instead, None);
    Ok(())
}

#[test]
fn gates_that_are_not_kept_or_not_measured_are_named() -> Outcome {
    let missed = |case: Case| case.said().map(|(verdict, _)| verdict.missed);
    assert_eq!(missed(student(FINE).jobs([1.0; 3]).on("other", FINE))?, [""; 0]);
    assert_eq!(missed(student(FINE))?, ["tail", "elsewhere"], "not measured");
    assert_eq!(
        missed(student([1.2; 3]).jobs([1.3; 3]).on("other", [1.3; 3]))?,
        ["teacher", "heuristic", "tail", "elsewhere"]
    );
    assert_eq!(
        missed(student([1.2; 3]).jobs([1.3; 3]).on("other", [1.3; 3]).gates(&[
            "teacher=1.2",
            "heuristic=1.1",
            "tail=1.301",
            "elsewhere=1.3"
        ]))?,
        [""; 0]
    );
    assert_eq!(missed(Case::default())?, ["finishes", "teacher", "heuristic", "tail", "elsewhere"]);
    Ok(())
}

#[test]
fn the_first_screen_has_a_picture_figures_with_a_word_on_what_is_good_and_the_gates() -> Outcome {
    let (_, said) = student(FINE).on("builtin,edge=giant", [1.86; 3]).said()?;
    for words in [
        "best heuristic: srpt-fair",
        "Worst: one giant job shares the cluster",
        "agreement with the teacher, where it really chooses",
        "1.010 mean completion time, times the teacher's",
        "good: all of it at most 1.050",
        "good: up to 60, about a page",
        "– as fast as the teacher, decision by decision",
        "mean completion time at most 1.250 × the teacher's on every other workload; at worst, where one giant job",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    Ok(())
}

#[test]
fn the_first_screen_says_of_a_history_that_cannot_check_the_simulator_that_it_cannot() -> Outcome {
    for simulated_only in [false, true] {
        let dir = tempfile::tempdir()?;
        write_run(dir.path(), |info, _, _| info.simulated_only = simulated_only)?;
        let verdict = write_report_with(dir.path(), &dir.path().join("report"), &ReportParams::default())?.verdict;
        let html = fs::read_to_string(dir.path().join("report/report.html"))?;
        let says = section(&html, "first-screen").contains("differences between schedulers are so in simulation only");
        assert_eq!((says, verdict.history.is_empty()), (simulated_only, !simulated_only));
    }
    Ok(())
}
