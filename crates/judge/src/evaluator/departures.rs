//! At which level whole decisions depart from the teacher's first.

use super::{Estimate, Scorer, interval::bootstrap};
use rayon::prelude::*;
use sched_distill_core::model::Structure;
use sched_distill_trace::{Choice, LevelTable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the row for choices with a single candidate.
pub const FORCED: &str = "forced";

/// How many decisions depart first at one level, in choices of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepartureRow {
    /// Level, e.g. `job`.
    pub level: String,
    /// Kind of choice at that level, or `forced` for those with a single candidate.
    pub kind: String,
    /// Decisions with such a choice in which the levels above agree.
    pub decisions: usize,
    /// Those in which this level departs.
    pub departures: usize,
    /// Share of all decisions whose first departure is here; over all rows this adds up to the share of decisions that depart.
    pub share: Estimate,
}

/// Where whole decisions depart from the teacher's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Departures {
    /// How both are read: one level after the other, or the levels above the amount at once.
    pub structure: Structure,
    /// Decisions counted.
    pub decisions: usize,
    /// Share of decisions that agree at all levels.
    pub joint: Estimate,
    /// Share of decisions in which the student takes what was executed at all levels above the amount.
    pub executed: Estimate,
    /// One row per level and kind.
    pub rows: Vec<DepartureRow>,
}

/// Compares every decision with the teacher's and walks it along the teacher's candidates, from the first level down, to the
/// first one at which the scorer takes another candidate; `levels` are tables with those who make their choices. Every decision
/// counts 1. Read one level after the other, both take the best candidate of each choice on the teacher's path; read flat,
/// each takes the path through the levels above the amount whose log-probabilities have the largest sum. The choice of an
/// amount is the one there is: that of what was executed. Intervals resample episodes; `seed` fixes them.
///
/// `None` without levels, and for a flat reading of a teacher without probabilities: its traces hold the choices on the
/// executed path only.
#[must_use]
pub fn departures(levels: &[(&LevelTable, &Scorer)], structure: Structure, seed: u64) -> Option<Departures> {
    let mut tally = DeparturesTally::new(structure);
    tally.add(levels);
    tally.departures(seed)
}

/// Departures added up episode by episode, so that the choices need not be in memory all at once.
pub struct DeparturesTally {
    structure: Structure,
    /// Names of the levels, and of the kinds.
    levels: Vec<String>,
    kinds: Vec<String>,
    /// By episode.
    sums: Vec<Sums>,
    decisions: Vec<usize>,
    /// Whether a flat reading met a choice without probabilities.
    unknown: bool,
}

impl DeparturesTally {
    /// Of no decision yet.
    #[must_use]
    pub fn new(structure: Structure) -> Self {
        let (levels, kinds, sums, decisions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { structure, levels, kinds, sums, decisions, unknown: false }
    }

    /// Adds the decisions of tables of all levels, which hold the same episodes whole.
    pub fn add(&mut self, levels: &[(&LevelTable, &Scorer)]) {
        let Some((first, _)) = levels.first() else { return };
        self.levels = levels.iter().map(|(table, _)| table.spec.name.clone()).collect();
        self.kinds.clone_from(&first.kinds);
        self.unknown |=
            self.structure == Structure::Flat && !first.iter().all(|c| c.is_forced() || c.has_probabilities());
        if self.unknown {
            return;
        }
        let rows = levels.len() * self.width();
        let decisions = Decisions::new(levels, self.structure);
        let of_episode = |range: &std::ops::Range<usize>| {
            let mut sums = Sums { rows: vec![(0, 0); rows], executed: 0 };
            range.clone().for_each(|i| decisions.add(i, &mut sums));
            sums
        };
        let episodes = super::fidelity::episodes(first);
        self.sums.par_extend(episodes.par_iter().map(of_episode));
        self.decisions.extend(episodes.iter().map(ExactSizeIterator::len));
    }

    /// Rows per level: one per kind, and one for forced choices, which comes last.
    fn width(&self) -> usize {
        self.kinds.len() + 1
    }

    /// As [`departures`](fn@departures) gives them.
    #[must_use]
    pub fn departures(&self, seed: u64) -> Option<Departures> {
        if self.unknown || self.levels.is_empty() {
            return None;
        }
        let (sums, count, width) = (&self.sums, &self.decisions, self.width());
        let share = |of: &dyn Fn(usize) -> usize| {
            bootstrap(count.len(), seed, |counts| {
                let sum = |of: &dyn Fn(usize) -> usize| {
                    counts.iter().enumerate().map(|(e, &c)| of(e) as f64 * f64::from(c)).sum::<f64>()
                };
                sum(of) / sum(&|e| count[e])
            })
        };
        let row = |r: usize| {
            let sum = |of: fn(&(usize, usize)) -> usize| sums.iter().map(|s| of(&s.rows[r])).sum::<usize>();
            DepartureRow {
                level: self.levels[r / width].clone(),
                kind: self.kinds.get(r % width).map_or(FORCED, String::as_str).to_owned(),
                decisions: sum(|s| s.0),
                departures: sum(|s| s.1),
                share: share(&|e| sums[e].rows[r].1),
            }
        };
        Some(Departures {
            structure: self.structure,
            decisions: count.iter().sum(),
            joint: share(&|e| count[e] - sums[e].rows.iter().map(|s| s.1).sum::<usize>()),
            executed: share(&|e| sums[e].executed),
            rows: (0..self.levels.len() * width).map(row).filter(|r| r.decisions > 0).collect(),
        })
    }
}

/// Of one episode.
struct Sums {
    /// Per level and kind: decisions that get there, and departures.
    rows: Vec<(usize, usize)>,
    /// Decisions in which what was executed is taken.
    executed: usize,
}

/// The choices of all levels, by decision.
struct Decisions<'a> {
    levels: &'a [(&'a LevelTable, &'a Scorer)],
    structure: Structure,
    /// Levels above the amount.
    above: usize,
    /// Per level but the first: places of choices by episode and step.
    below: Vec<BTreeMap<(u32, u32), Vec<usize>>>,
}

/// Who takes candidates.
#[derive(Clone, Copy)]
enum Who {
    Teacher,
    Student,
}

impl<'a> Decisions<'a> {
    fn new(levels: &'a [(&'a LevelTable, &'a Scorer)], structure: Structure) -> Self {
        let above = levels.iter().take_while(|(table, _)| !table.spec.is_amount()).count();
        let below = levels[1..].iter().map(|(table, _)| by_decision(table)).collect();
        Self { levels, structure, above, below }
    }

    /// Compares decision number `i`.
    fn add(&self, i: usize, sums: &mut Sums) {
        let (first, _) = self.levels[0];
        let width = first.kinds.len() + 1;
        let choice = first.choice(i);
        let (teacher, student) = (self.path(Who::Teacher, choice), self.path(Who::Student, choice));
        sums.executed += usize::from(self.is_executed(choice, &student));
        let mut next = Some(choice);
        for level in 0..self.levels.len() {
            let Some(choice) = next else { break };
            let forced = choice.is_forced();
            let kind = if forced { width - 1 } else { choice.header.kind as usize };
            let target = teacher.get(level).copied().unwrap_or_else(|| choice.target());
            let taken = match self.structure {
                Structure::Flat if level < self.above => student.get(level).copied(),
                // What comes after a departure is not looked at, so that up to here both paths are the same.
                _ => Some(self.take(Who::Student, level, &choice)),
            };
            let (reached, departed) = &mut sums.rows[level * width + kind];
            *reached += 1;
            if !forced && taken != Some(target) {
                *departed += 1;
                break;
            }
            next = self.conditional(level + 1, &choice, target);
        }
    }

    /// Candidates at the levels above the amount that are taken, beginning with a choice of the first level.
    fn path(&self, who: Who, first: Choice<'a>) -> Vec<usize> {
        match self.structure {
            Structure::Flat => {
                let mut most_probable = (f64::NEG_INFINITY, Vec::new());
                self.extend(who, &first, 0.0, &mut Vec::new(), &mut most_probable);
                most_probable.1
            }
            Structure::Hierarchical => {
                let (mut path, mut next) = (Vec::new(), Some(first));
                while let Some(choice) = next.filter(|_| path.len() < self.above) {
                    path.push(self.take(who, path.len(), &choice));
                    next = self.conditional(path.len(), &choice, path[path.len() - 1]);
                }
                path
            }
        }
    }

    /// Extends a path with the log-probability `so_far` by each candidate of a choice, and so on down the levels.
    fn extend(
        &self,
        who: Who,
        choice: &Choice<'a>,
        so_far: f64,
        path: &mut Vec<usize>,
        most_probable: &mut (f64, Vec<usize>),
    ) {
        let level = path.len();
        for (candidate, log_prob) in self.log_probs(who, level, choice).into_iter().enumerate() {
            path.push(candidate);
            let whole = so_far + log_prob;
            match self.conditional(level + 1, choice, candidate).filter(|_| level + 1 < self.above) {
                Some(next) => self.extend(who, &next, whole, path, most_probable),
                None if whole > most_probable.0 => *most_probable = (whole, path.clone()),
                None => {}
            }
            path.pop();
        }
    }

    fn take(&self, who: Who, level: usize, choice: &Choice<'_>) -> usize {
        match who {
            Who::Teacher => choice.target(),
            Who::Student => self.levels[level].1.choose(choice, &mut Vec::new()),
        }
    }

    fn log_probs(&self, who: Who, level: usize, choice: &Choice<'_>) -> Vec<f64> {
        match who {
            _ if choice.is_forced() => vec![0.0],
            Who::Teacher => choice.log_prob.iter().map(|&p| f64::from(p)).collect(),
            Who::Student => self.levels[level].1.log_probs(choice),
        }
    }

    /// Whether the candidates of a path are those that were executed.
    fn is_executed(&self, first: Choice<'a>, path: &[usize]) -> bool {
        let mut next = Some(first);
        path.iter().enumerate().all(|(level, &candidate)| {
            let Some(choice) = next else { return false };
            next = self.conditional(level + 1, &choice, candidate);
            choice.chosen[candidate]
        })
    }

    /// The choice of a level that is conditional on a candidate of the choice above; that of an amount is the only one.
    fn conditional(&self, level: usize, above: &Choice<'_>, candidate: usize) -> Option<Choice<'a>> {
        let &(table, _) = self.levels.get(level)?;
        let of_decision = self.below[level - 1].get(&(above.header.episode, above.header.step))?;
        let is_its = |i: &&usize| table.choices[**i].parent == Some(candidate as u32);
        match of_decision[..] {
            [single] if table.spec.is_amount() => Some(table.choice(single)),
            _ => of_decision.iter().find(is_its).map(|&i| table.choice(i)),
        }
    }
}

/// Choices of a table by episode and step.
fn by_decision(table: &LevelTable) -> BTreeMap<(u32, u32), Vec<usize>> {
    let mut found: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (i, choice) in table.choices.iter().enumerate() {
        found.entry((choice.episode, choice.step)).or_default().push(i);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::{Role, tiny};
    use sched_distill_core::{
        level::{first_max, log_sum_exp},
        model::{Additive, Model, NamedModel},
        rng::Stream,
    };

    fn smallest_a() -> NamedModel {
        let model = Model::Additive(Additive::linear(&[-1.0, 0.0], &[0.0; 2]));
        NamedModel { name: "r".to_owned(), temperature: 1.0, model }
    }

    #[test]
    fn the_first_departure_counts_and_rows_add_up() {
        // Three decisions in one episode; candidate 0 has the smallest `a`.
        let two = || vec![[0.0, 0.0], [1.0, 0.0]];
        // The target is the scorer's; another one; the scorer's.
        let jobs = tiny::table("job", &[(0, 0, two(), 0), (0, 1, two(), 1), (0, 1, two(), 0)]);
        // Two stage choices per decision, conditional on job 0 and 1.
        let mut stages = tiny::table(
            "stage",
            &[
                (0, 0, two(), 1), // conditional on the target: departs
                (0, 0, two(), 0),
                (0, 1, two(), 0),
                (0, 1, two(), 1),            // the job has departed before
                (0, 1, vec![[0.0, 0.0]], 0), // forced
                (0, 1, two(), 1),            // conditional on another job
            ],
        );
        for (i, choice) in stages.choices.iter_mut().enumerate() {
            (choice.step, choice.parent) = (i as u32 / 2, Some(i as u32 % 2));
        }
        let model = smallest_a();
        let scorer = Scorer::model(&model, Role::Student);
        let levels = [(&jobs, &scorer), (&stages, &scorer)];
        let found = departures(&levels, Structure::Hierarchical, 1).unwrap();
        let rows: Vec<_> =
            found.rows.iter().map(|r| (r.level.as_str(), r.kind.as_str(), r.decisions, r.departures)).collect();
        assert_eq!(rows, [("job", "x", 1, 0), ("job", "y", 2, 1), ("stage", "x", 1, 1), ("stage", FORCED, 1, 0)]);
        assert_eq!(found.decisions, 3);
        assert!((found.joint.value - 1.0 / 3.0).abs() < 1e-12);
        // The first decision departs at the stage, the second one at the job; the third one takes what was executed.
        assert_eq!(found.executed.value, found.joint.value);
        assert_eq!(departures(&[], Structure::Hierarchical, 1), None);
        assert_eq!(departures(&levels, Structure::Flat, 1), None, "a teacher without probabilities");
    }

    #[test]
    fn shares_and_joint_agreement_add_up_to_one() {
        let mut s = Stream::new(3, "departures");
        let mut table = |level: &str, entity: &str| {
            let choices: Vec<_> = (0..200)
                .map(|i| {
                    let n = 1 + s.below(4);
                    let rows = (0..n).map(|_| [s.uniform() as f32, 0.0]).collect();
                    (i / 20, s.below(2) as u8, rows, s.below(n))
                })
                .collect();
            let mut table = tiny::table(level, &choices);
            table.spec.entities = vec![entity.to_owned()];
            table
        };
        let (jobs, mut stages) = (table("job", "job"), table("stage", "stage"));
        let amounts = table("amount", "amount");
        for (choice, job) in stages.choices.iter_mut().zip(jobs.iter()) {
            choice.parent = Some(job.target() as u32);
        }
        let model = smallest_a();
        let scorer = Scorer::model(&model, Role::Student);
        let tables = [&jobs, &stages, &amounts];
        let levels = tables.map(|t| (t, &scorer));
        let found = departures(&levels, Structure::Hierarchical, 1).unwrap();
        let sum: f64 = found.rows.iter().map(|r| r.share.value).sum();
        assert!((sum + found.joint.value - 1.0).abs() < 1e-12);
        // By brute force: all three levels agree.
        let agrees = |t: &LevelTable, i: usize| {
            let c = t.choice(i);
            first_max((0..c.len()).map(|j| -f64::from(c.row(j)[0]))) == c.target()
        };
        let joint = (0..200).filter(|&i| tables.iter().all(|t| agrees(t, i))).count();
        assert!((found.joint.value - joint as f64 / 200.0).abs() < 1e-12);
        assert!(found.joint.low <= found.joint.value && found.joint.value <= found.joint.high);
    }

    /// A teacher and a student with probabilities of their own, over jobs of several stages.
    #[test]
    fn flat_decisions_are_compared_by_brute_force() {
        let mut s = Stream::new(5, "flat");
        let (mut jobs, mut stages) = (tiny::table("job", &[]), tiny::table("stage", &[]));
        for step in 0..300 {
            let n = 1 + s.below(4);
            let mut push = |table: &mut LevelTable, n: usize, parent| {
                let scores: Vec<f64> = (0..n).map(|_| s.normal()).collect();
                let total = log_sum_exp(&scores);
                let rows = scores.iter().map(|v| [(v + s.normal()) as f32, 0.0]).collect();
                let mut one = tiny::table(&table.spec.name, &[(step / 30, s.below(2) as u8, rows, s.below(n))]);
                one.log_prob = scores.iter().map(|v| (v - total) as f32).collect();
                (one.choices[0].step, one.choices[0].parent) = (step, parent);
                table.append(one);
            };
            push(&mut jobs, n, None);
            for job in 0..n {
                push(&mut stages, 1 + (step as usize + job) % 3, Some(job as u32));
            }
        }
        let model = Model::Additive(Additive::linear(&[1.0, 0.0], &[0.0; 2]));
        let named = |temperature| NamedModel { name: String::new(), temperature, model: model.clone() };
        let (of_jobs, of_stages) = (named(2.0), named(0.5));
        let scorers = [&of_jobs, &of_stages].map(|m| Scorer::model(m, Role::Student));
        let found = departures(&[(&jobs, &scorers[0]), (&stages, &scorers[1])], Structure::Flat, 1).unwrap();
        let (mut joint, mut of_job, mut executed, mut not_hierarchical) = (0, 0, 0, 0);
        for job in jobs.iter() {
            let of_student = |choice: &Choice<'_>, temperature: f64| -> Vec<f64> {
                let scores: Vec<f64> = (0..choice.len()).map(|i| f64::from(choice.row(i)[0]) / temperature).collect();
                let total = log_sum_exp(&scores);
                scores.iter().map(|v| v - total).collect()
            };
            let mut paths = Vec::new();
            for stage in stages.iter().filter(|c| c.header.step == job.header.step) {
                let parent = stage.header.parent.unwrap() as usize;
                for i in 0..stage.len() {
                    let student = of_student(&job, 2.0)[parent] + of_student(&stage, 0.5)[i];
                    let teacher = f64::from(job.log_prob[parent]) + f64::from(stage.log_prob[i]);
                    paths.push((student, teacher, parent, i, job.chosen[parent] && stage.chosen[i]));
                }
            }
            let mine = paths[first_max(paths.iter().map(|p| p.0))];
            let teachers = paths[first_max(paths.iter().map(|p| p.1))];
            joint += usize::from((mine.2, mine.3) == (teachers.2, teachers.3));
            of_job += usize::from(mine.2 != teachers.2);
            executed += usize::from(mine.4);
            not_hierarchical += usize::from(teachers.2 != job.target());
        }
        assert!(not_hierarchical > 10 && joint > 50 && executed > 20, "{not_hierarchical} {joint} {executed}");
        let share = |n: usize| n as f64 / 300.0;
        assert!((found.joint.value - share(joint)).abs() < 1e-12);
        assert!((found.executed.value - share(executed)).abs() < 1e-12);
        let departures =
            |level: &str| found.rows.iter().filter(|r| r.level == level).map(|r| r.departures).sum::<usize>();
        assert_eq!((departures("job"), departures("stage")), (of_job, 300 - joint - of_job));
    }
}
