//! What the owner of a history is told, in sentences. Each is a claim by the figures, and no stronger than the simulator is near to what was
//! recorded.

use super::P99;
use crate::{
    goal,
    run_dir::RunDir,
    words::{number, percent, time},
};
use sched_distill_core::{figure::Compared, workload::duration};
use sched_distill_judge::evaluator::{Estimate, OfSize};
use sched_distill_pipeline::{AS_RECORDED, Advice, Belief};

/// The advice of a run on a history.
pub(crate) fn sentences(run: &RunDir, advice: &Advice) -> Vec<String> {
    let said = Said { run, advice };
    [said.student(), said.rule(), said.sizes(), Some(said.trust())].into_iter().flatten().collect()
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
            Belief::Open => ", which leaves open which of them is better",
        };
        Some(format!("{of} {compared}{but}.").replace("  ", " "))
    }

    /// What the best known rule alone would have done.
    fn rule(&self) -> Option<String> {
        let (rule, e) = self.advice.best_rule()?;
        let objective = self.advice.closed_loop.objective();
        let whiskers = goal::whiskers(objective, &e);
        let name = self.policy(rule);
        Some(match objective.compared {
            Compared::Ratio => {
                format!("The best known rule alone, {name}, comes to {}\u{a0}× {whiskers}.", self.value(&e))
            }
            Compared::Difference => format!(
                "With the best known rule alone, {name}, it is {} {whiskers}.",
                self.run.plain().more_or_fewer(objective, &e)
            ),
        })
    }

    /// Who loses by the size of jobs: those who surely take longer than before.
    fn sizes(&self) -> Option<String> {
        let before = self.advice.before();
        let by_size = self.advice.closed_loop.student_to(before)?.by_size.as_ref()?;
        let [smaller, larger] = by_size.halves.as_ref()?;
        let border = match by_size.unit == "ms" {
            true => time(smaller.sizes[1]),
            false => format!("{} {}", number(smaller.sizes[1]), by_size.unit),
        };
        let of = |half: &OfSize| {
            let e = &half.time;
            let (value, whiskers) = (goal::measured_value(&P99, e, e.value), goal::whiskers(&P99, e));
            format!("{value}\u{a0}× as long {whiskers}").trim_end().to_owned()
        };
        let loses = |half: &OfSize| half.time.low > 1.0;
        let (label, what) = (&by_size.label, |is: &str| format!("jobs whose {} is {is} {border}", by_size.label));
        match (loses(smaller), loses(larger)) {
            (true, true) => Some(format!(
                "All jobs would have taken longer: those of little {label} {}, the others {}.",
                of(smaller),
                of(larger)
            )),
            (true, false) => Some(format!("Who loses: {} would have taken {}.", what("at most"), of(smaller))),
            (false, true) => Some(format!("Who loses: {} would have taken {}.", what("above"), of(larger))),
            (false, false) => None,
        }
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
            None => "No schedule is recorded, so that this history cannot check the simulator: all of this is so in simulation only."
                .to_owned(),
        }
    }

    /// Who scheduled before, or stands in for it.
    fn before(&self) -> String {
        match self.advice.before() {
            AS_RECORDED => "the recorded order".to_owned(),
            rule => format!("{}, which stands in for the order that is not recorded", self.policy(rule)),
        }
    }

    fn policy(&self, id: &str) -> String {
        match self.run.plain().policy(id) {
            Some(words) => format!("{words} ({id})"),
            None => id.to_owned(),
        }
    }

    fn value(&self, e: &Estimate) -> String {
        goal::measured_value(self.advice.closed_loop.objective(), e, e.value)
    }
}
