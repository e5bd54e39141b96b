//! What the owner of a history is told, in sentences. Each is a claim by the figures, and no stronger than the simulator is near to what was
//! recorded.

use super::P99;
use crate::{
    goal,
    run_dir::RunDir,
    words::{number, percent, time},
};
use sched_distill_core::{figure::Compared, workload::duration};
use sched_distill_judge::evaluator::{BySize, Estimate, OfSize};
use sched_distill_pipeline::{AS_RECORDED, Advice, Belief};
use std::cmp::Ordering;

/// An interval of a comparison that is no wider holds figures that are the same as written.
const SAME: f64 = 1e-3;

/// Of a history with which nothing can be checked.
const UNCHECKED: &str = "No schedule is recorded that could be carried out again, so that this history cannot check the simulator: \
    differences between schedulers are so in simulation only.";

/// What the owner of a history is told; nothing of other runs.
pub(crate) fn sentences(run: &RunDir) -> Vec<String> {
    let Some(advice) = &run.advice else {
        return run.info.simulated_only.then(|| UNCHECKED.to_owned()).into_iter().collect();
    };
    let said = Said { run, advice };
    [said.student(), said.rule(), said.sizes(), Some(said.trust())].into_iter().flatten().collect()
}

/// A scheduler in words, with its name.
pub(crate) fn scheduler(run: &RunDir, id: &str) -> String {
    match (id, run.plain().policy(id)) {
        (AS_RECORDED, _) => "the recorded order".to_owned(),
        (_, Some(words)) => format!("{words} ({id})"),
        (_, None) => id.to_owned(),
    }
}

/// Where smaller jobs end.
pub(crate) fn border(by_size: &BySize) -> Option<String> {
    let [smaller, _] = by_size.halves.as_ref()?;
    Some(match by_size.unit == "ms" {
        true => time(smaller.sizes[1]),
        false => format!("{} {}", number(smaller.sizes[1]), by_size.unit),
    })
}

struct Said<'a> {
    run: &'a RunDir,
    advice: &'a Advice,
}

impl Said<'_> {
    /// What the student would have done to the jobs that nothing was chosen on.
    fn student(&self) -> Option<String> {
        let Self { run, advice } = self;
        let e = advice.of_student()?;
        let objective = advice.closed_loop.objective();
        let period = match advice.period.is_last {
            true => format!("the last {}", duration(advice.period.span_ms)),
            false => format!("periods within {}", duration(advice.period.span_ms)),
        };
        let (jobs, terms) = (advice.period.jobs, run.student.size());
        let of = format!(
            "On {period} of the history ({jobs} jobs, on which nothing was chosen) this student, of {terms} terms and leaves,"
        );
        let whiskers = goal::whiskers(objective, &e);
        let compared = match objective.compared {
            Compared::Ratio => {
                let noun = run.plain().figure(objective);
                format!("brings the {noun} to {}\u{a0}× {whiskers} that of {}", self.value(&e), self.before())
            }
            Compared::Difference => {
                let more = run.plain().more_or_fewer(objective, &e);
                format!("would have had {more} {whiskers} than {}", self.before())
            }
        };
        let but = match advice.belief(&e) {
            Belief::Shown | Belief::InSimulation if objective.favours(e.value) => "",
            Belief::Shown | Belief::InSimulation => ", which is worse",
            Belief::WithinError => ", which is less than the simulator is off by, and no difference to rely on",
            Belief::Open if e.high - e.low < SAME => ", which is no difference",
            Belief::Open => ", which leaves open which of them is better",
        };
        Some(format!("{of} {compared}{but}.").replace("  ", " "))
    }

    /// What the best known rule alone would have done.
    fn rule(&self) -> Option<String> {
        let (rule, e) = self.advice.best_rule()?;
        let objective = self.advice.closed_loop.objective();
        let whiskers = goal::whiskers(objective, &e);
        let name = scheduler(self.run, rule);
        let than = self.rule_against_student(&e);
        Some(match objective.compared {
            Compared::Ratio => {
                format!("The best known rule alone, {name}, comes to {}\u{a0}× {whiskers}{than}.", self.value(&e))
            }
            Compared::Difference => format!(
                "With the best known rule alone, {name}, it is {} {whiskers}{than}.",
                self.run.plain().more_or_fewer(objective, &e)
            ),
        })
    }

    /// Whether a rule does better than the student, or worse, where intervals show it by not meeting.
    fn rule_against_student(&self, rule: &Estimate) -> &'static str {
        let Some(student) = self.advice.of_student() else { return "" };
        let objective = self.advice.closed_loop.objective();
        let costs = |e: &Estimate| {
            let ends = [e.low, e.high].map(|end| objective.cost(Some(end)));
            [ends[0].min(ends[1]), ends[0].max(ends[1])]
        };
        let ([rule_least, rule_most], [least, most]) = (costs(rule), costs(&student));
        match () {
            () if rule_most < least => ", which is better than the student",
            () if most < rule_least => ", which is worse than the student",
            () => "",
        }
    }

    /// Who gains and who loses by the size of jobs: those who surely take less long than before, or longer.
    fn sizes(&self) -> Option<String> {
        let before = self.advice.before();
        let by_size = self.advice.closed_loop.student_to(before)?.by_size.as_ref()?;
        let [smaller, larger] = by_size.halves.as_ref()?;
        let border = border(by_size)?;
        let of = |half: &OfSize| {
            let e = &half.time;
            let (value, whiskers) = (goal::measured_value(&P99, e, e.value), goal::whiskers(&P99, e));
            format!("{value}\u{a0}× as long {whiskers}").trim_end().to_owned()
        };
        // Nobody is said to gain or to lose less than the simulator is off by.
        let error = self.advice.replay.as_ref().map_or(0.0, |replay| replay.median);
        let side = |half: &OfSize| match &half.time {
            e if e.high < 1.0 && 1.0 - e.value > error => Ordering::Less,
            e if e.low > 1.0 && e.value - 1.0 > error => Ordering::Greater,
            _ => Ordering::Equal,
        };
        let (label, what) = (&by_size.label, |is: &str| format!("jobs whose {} is {is} {border}", by_size.label));
        let (small, large) = (what("at most"), what("above"));
        Some(match (side(smaller), side(larger)) {
            (Ordering::Equal, Ordering::Equal) => {
                format!("Neither {small} nor larger ones are known to gain or to lose.")
            }
            (a, b) if a == b => {
                let which = if a == Ordering::Less { "gain" } else { "lose" };
                format!(
                    "Small jobs {which} and large ones too: those whose {label} is at most {border} would have taken {}, the others {}.",
                    of(smaller),
                    of(larger)
                )
            }
            (Ordering::Less, Ordering::Equal) => {
                format!("Who gains: {small} would have taken {}; no others are known to.", of(smaller))
            }
            (Ordering::Equal, Ordering::Less) => {
                format!("Who gains: {large} would have taken {}; no others are known to.", of(larger))
            }
            (Ordering::Greater, Ordering::Equal) => format!("Who loses: {small} would have taken {}.", of(smaller)),
            (Ordering::Equal, _) => format!("Who loses: {large} would have taken {}.", of(larger)),
            (Ordering::Less, _) => {
                format!("Who gains: {small} would have taken {}; who loses: larger ones {}.", of(smaller), of(larger))
            }
            (Ordering::Greater, _) => {
                format!("Who gains: {large} would have taken {}; who loses: smaller ones {}.", of(larger), of(smaller))
            }
        })
    }

    /// How far that is to be believed.
    fn trust(&self) -> String {
        match &self.advice.replay {
            Some(replay) => format!(
                "In the recorded order the simulator reproduces the completion times within {} for half of the jobs and within {} for \
                 nine in ten: believe differences above {}.",
                percent(replay.median),
                percent(replay.p90),
                percent(replay.median)
            ),
            None => UNCHECKED.to_owned(),
        }
    }

    /// Who scheduled before, or stands in for it.
    fn before(&self) -> String {
        match self.advice.before() {
            AS_RECORDED => scheduler(self.run, AS_RECORDED),
            rule => format!("{}, which stands in for the order that is not recorded", scheduler(self.run, rule)),
        }
    }

    fn value(&self, e: &Estimate) -> String {
        goal::measured_value(self.advice.closed_loop.objective(), e, e.value)
    }
}
