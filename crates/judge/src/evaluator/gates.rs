//! May a student take its teacher's place? What it must keep for that, and which of it was kept.

use super::{Estimate, Place, Verdict};
use sched_distill_core::figure::{Compared, Figure};

/// What a student must keep to take its teacher's place: limits on comparisons of the objective, e.g. 1.05 times the
/// teacher's completion time. `None` is the default of each.
///
/// ```
/// use sched_distill_judge::evaluator::VerdictGates;
/// let gates = VerdictGates::default().with("teacher=1.02")?;
/// assert_eq!(gates.teacher, Some(1.02));
/// assert!(gates.with("teachers=1.02").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerdictGates {
    /// Against the teacher on the usual workload, for the worse end of the interval: 5 % worse.
    pub teacher: Option<f64>,
    /// Against the best known heuristic on the usual workload: no worse.
    pub heuristic: Option<f64>,
    /// Against the teacher on every other workload: 25 % worse.
    pub elsewhere: Option<f64>,
    /// The completion time that 99 % of the jobs do not exceed ÷ the teacher's, on the usual workload, for the worse end of the interval.
    ///
    /// 1.25 where the objective is a mean of times, which hides who waits longest: promises are made of such quantiles, and as
    /// elsewhere a quarter more is what users notice. The hundredth part of the jobs says less than all of them, so a limit as
    /// near as that of the mean would take thousands of episodes. None where the objective is a share of promises kept: that
    /// counts each job's own limit, and a job that cannot keep it may well wait.
    pub tail: Option<f64>,
}

/// One of the gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// No episode of the usual workload may leave jobs unfinished.
    Finishes,
    /// [`VerdictGates::teacher`].
    Teacher,
    /// [`VerdictGates::heuristic`].
    Heuristic,
    /// [`VerdictGates::tail`].
    Tail,
    /// [`VerdictGates::elsewhere`].
    Elsewhere,
}

impl Gate {
    /// What users call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finishes => "finishes",
            Self::Teacher => "teacher",
            Self::Heuristic => "heuristic",
            Self::Tail => "tail",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// A gate that was put to the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// Which one.
    pub gate: Gate,
    /// What the comparison may be at worst.
    pub limit: f64,
    /// What was measured; `None` if it stalled.
    pub found: Option<Estimate>,
    /// Whether it was kept.
    pub kept: bool,
}

/// What the gates say.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement<'a> {
    /// All gates that could be put to the test, [`Gate::Finishes`] first.
    pub checked: Vec<Checked>,
    /// Other workloads on which the student is beyond [`VerdictGates::elsewhere`], the worst first.
    pub barred: Vec<Place<'a>>,
}

impl VerdictGates {
    /// What the 99th percentile of completion times may be at worst, times the teacher's, where that has a limit.
    pub const P99: f64 = 1.25;
    /// Names of those with a limit.
    pub const NAMES: [&'static str; 4] = ["teacher", "heuristic", "tail", "elsewhere"];

    /// The same with one limit set, written as `NAME=LIMIT`.
    ///
    /// # Errors
    ///
    /// An unknown name, or a limit that is no finite number.
    pub fn with(mut self, text: &str) -> Result<Self, String> {
        let names = Self::NAMES.join(", ");
        let (name, limit) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=LIMIT; NAME is one of {names}"))?;
        let limit: f64 =
            limit.trim().parse().ok().filter(|limit: &f64| limit.is_finite()).ok_or_else(|| {
                format!("`{limit}` is no limit of the gate {name}; a number is needed, e.g. {name}=1.05")
            })?;
        match name.trim() {
            "teacher" => self.teacher = Some(limit),
            "heuristic" => self.heuristic = Some(limit),
            "tail" => self.tail = Some(limit),
            "elsewhere" => self.elsewhere = Some(limit),
            other => return Err(format!("there is no gate `{other}`; there are {names}")),
        }
        Ok(self)
    }

    /// Whether there is a limit.
    #[must_use]
    pub fn has(&self, gate: Gate, objective: &Figure) -> bool {
        gate != Gate::Tail || self.tail.is_some() || objective.compared == Compared::Ratio
    }

    /// What the comparison may be at worst.
    #[must_use]
    pub fn limit(&self, gate: Gate, objective: &Figure) -> f64 {
        match gate {
            Gate::Finishes => objective.neutral(),
            Gate::Teacher => self.teacher.unwrap_or_else(|| objective.worse_by(0.05)),
            Gate::Heuristic => self.heuristic.unwrap_or_else(|| objective.worse_by(0.0)),
            Gate::Tail => self.tail.unwrap_or(Self::P99),
            Gate::Elsewhere => self.elsewhere.unwrap_or_else(|| objective.worse_by(0.25)),
        }
    }
}

impl<'a> Verdict<'a> {
    /// Puts the student to the gates. A gate about what did not take part is not among those that were checked.
    #[must_use]
    pub fn judge(&self, gates: &VerdictGates, objective: &Figure) -> Judgement<'a> {
        let student = &self.student;
        let finishes = student.stalled == 0;
        let mut checked = Vec::new();
        // Of completion times the shorter ones are better, whatever the objective is.
        let passes = |gate, value, limit| match gate {
            Gate::Tail => value <= limit,
            _ => objective.passes(value, limit),
        };
        let mut check = |gate, found: Option<Estimate>, judged: Option<f64>| {
            let limit = gates.limit(gate, objective);
            checked.push(Checked { gate, limit, found, kept: judged.is_some_and(|value| passes(gate, value, limit)) });
        };
        check(Gate::Finishes, None, finishes.then(|| objective.neutral()));
        if finishes && self.teacher_finishes {
            check(Gate::Teacher, student.to_teacher, student.to_teacher.map(|e| worse_end(&e, objective)));
        }
        if finishes && self.heuristic.is_some() {
            check(Gate::Heuristic, student.to_heuristic, student.to_heuristic.map(|e| e.value));
        }
        if let Some(tail) = student.tail.filter(|_| gates.has(Gate::Tail, objective)) {
            check(Gate::Tail, Some(tail.p99), Some(tail.p99.high));
        }
        if let Some(worst) = self.elsewhere.first() {
            check(Gate::Elsewhere, worst.to_teacher, worst.to_teacher.map(|e| e.value));
        }
        let limit = gates.limit(Gate::Elsewhere, objective);
        let beyond = |place: &&Place<'a>| place.to_teacher.is_none_or(|e| !objective.passes(e.value, limit));
        Judgement { checked, barred: self.elsewhere.iter().filter(beyond).cloned().collect() }
    }
}

impl Judgement<'_> {
    /// What came of a gate; `None` if it could not be put to the test.
    #[must_use]
    pub fn of(&self, gate: Gate) -> Option<&Checked> {
        self.checked.iter().find(|c| c.gate == gate)
    }

    /// The known rule to use instead of the student: where the teacher is that rule and the student is not surely better, or where the
    /// student is worse than the rule and the rule itself keeps to the teacher's limit.
    #[must_use]
    pub fn rule_instead<'v>(&self, verdict: &Verdict<'v>, objective: &Figure) -> Option<&'v str> {
        let rule = verdict.heuristic.as_ref()?;
        let surely_better =
            verdict.student.to_heuristic.is_some_and(|e| objective.favours(e.low) && objective.favours(e.high));
        let limit = self.of(Gate::Teacher)?.limit;
        let keeps = rule.to_teacher.is_some_and(|e| objective.passes(worse_end(&e, objective), limit));
        let is_worse = keeps && self.of(Gate::Heuristic).is_some_and(|checked| !checked.kept);
        let may = rule.stalled == 0 && !surely_better && (verdict.is_rule.is_some() || is_worse);
        may.then_some(rule.policy)
    }

    /// Whether the student may take the teacher's place on the usual workload: all gates about it were checked against the
    /// teacher and kept.
    #[must_use]
    pub fn replaces(&self) -> bool {
        let usual = |c: &&Checked| c.gate != Gate::Elsewhere;
        self.of(Gate::Teacher).is_some() && self.checked.iter().filter(usual).all(|c| c.kept)
    }
}

/// The end of an interval that speaks against the policy.
fn worse_end(e: &Estimate, objective: &Figure) -> f64 {
    if objective.passes(e.low, e.high) { e.high } else { e.low }
}
