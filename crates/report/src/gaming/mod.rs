//! Can a user game it? How often a user is served sooner who describes her job differently, scheduler by scheduler; what can be
//! proved; and what it costs not to be gamed.

mod chart;
mod example;
mod sentence;

use super::{
    ReportError,
    glossary::{Part, explained},
    plain::capital,
    run_dir::RunDir,
    svg::{BLUE, Chart, Colour, GREEN, GREY, ORANGE, PURPLE},
    words::{count, interval, number, percent, time, with_role},
};
use sched_distill_core::{
    simulation::EditBudget,
    spec::{Spec, brief},
};
use sched_distill_judge::{
    attack::{BestEdit, Method, MethodFigures},
    evaluator::{Estimate, Role},
};
use sched_distill_pipeline::{AttackedScheduler, CertifiedStudent};
use serde::Serialize;

/// The section.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// What it comes to.
    sentence: Vec<Part>,
    /// Whether anything was attacked.
    attacked: bool,
    /// Episodes, seeds, workload, jobs of an episode at most.
    setting: Option<[String; 4]>,
    /// Edits that were tried out before the best was kept.
    trials: u32,
    /// Whether random edits were made as well.
    has_control: bool,
    /// Schedulers that the curve leaves out.
    left_out: usize,
    curve: Option<Chart>,
    price: Option<Chart>,
    rows: Vec<TableRow>,
    /// Whose edits are shown.
    whose: String,
    attempts: String,
    best: Vec<String>,
    sorts: Vec<[String; 4]>,
    example: Option<Chart>,
    /// What the example shows.
    shown: String,
    certified: Option<Vec<Part>>,
    certificates: Vec<CertificateRow>,
}

/// A scheduler and a budget, written out.
#[derive(Debug, Serialize)]
struct TableRow {
    name: String,
    budget: String,
    method: &'static str,
    sooner: (String, String),
    much_sooner: (String, String),
    change: (String, String),
    net: Option<(String, String)>,
    others: Option<(String, String)>,
}

/// What certificates of a student come to, written out.
#[derive(Debug, Serialize)]
struct CertificateRow {
    name: String,
    within: String,
    kind: String,
    choices: String,
    certified: (String, String),
    pairs: (String, String),
}

/// A scheduler and the attempts that stand for the attack on it.
struct Victim<'a> {
    name: String,
    colour: Colour,
    scheduler: &'a AttackedScheduler,
    method: Method,
    /// Whether it ran on the workload of the run.
    is_usual: bool,
}

impl Victim<'_> {
    /// The figures of a method, by budget.
    fn of(&self, method: Method) -> Vec<&MethodFigures> {
        self.scheduler.figures.iter().filter(|f| f.method == method).collect()
    }

    fn own(&self) -> Vec<&MethodFigures> {
        self.of(self.method)
    }
}

/// Words and draws what attacks and certificates came to.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Section, ReportError> {
    let victims = victims(run);
    let student = victims.iter().find(|v| v.scheduler.role == Some(Role::Student) && v.is_usual);
    let shown = student.or(victims.first());
    let notable = shown.and_then(|v| v.scheduler.notable.as_ref());
    let edited = notable.and_then(|n| n.best.first());
    let example = shown.and_then(|v| v.scheduler.example.as_ref()).zip(edited);
    let certificates = run.attacks.iter().flat_map(|a| &a.certificates);
    Ok(Section {
        sentence: explained(&sentence::lead(&victims)),
        attacked: !victims.is_empty(),
        setting: shown.map(|v| {
            let params = &v.scheduler.params;
            let numbers = [u64::from(params.episodes), u64::from(params.targets)].map(count);
            let [episodes, targets] = numbers;
            [episodes, params.split.name().to_owned(), brief(&v.scheduler.workload), targets]
        }),
        trials: shown.map_or(1, |v| v.scheduler.params.trials),
        has_control: victims.iter().any(|v| v.scheduler.params.methods.contains(&Method::Random)),
        left_out: chart::left_out(&victims),
        curve: chart::curve(&victims)?,
        price: chart::price(run, &victims)?,
        rows: victims.iter().flat_map(rows).collect(),
        whose: shown.map_or(String::new(), |v| match v.scheduler.role {
            Some(Role::Student) => "the student".to_owned(),
            _ => v.name.clone(),
        }),
        attempts: notable.map_or(String::new(), |n| count(n.attempts as u64)),
        best: notable.iter().flat_map(|n| &n.best).map(best).collect(),
        sorts: notable.iter().flat_map(|n| &n.sorts).map(sort).collect(),
        shown: example.map_or(String::new(), |(_, best)| best.words.join(", and ")),
        example: example.and_then(|(schedules, best)| example::chart(schedules, best)),
        certified: sentence::certified(run).map(|text| explained(&text)),
        certificates: certificates.flat_map(|c| certificate_rows(run, c)).collect(),
    })
}

impl Section {
    /// The charts in the page's order.
    pub(super) fn into_charts(self) -> impl Iterator<Item = Chart> {
        [self.curve, self.price, self.example].into_iter().flatten()
    }
}

/// All that were attacked, those of the run first.
fn victims(run: &RunDir) -> Vec<Victim<'_>> {
    const OTHERS: [Colour; 3] = [GREEN, GREY, ORANGE];
    let all = run.attacks.iter().flat_map(|attacks| &attacks.schedulers);
    // Another student may have taken its place since.
    let is_there = |s: &&AttackedScheduler| match (s.role, &run.augmented) {
        (Some(Role::Augmented), Some(now)) => s.files.is_empty() || s.files.values().any(|hash| now.has_hash(hash)),
        (Some(Role::Augmented), None) => false,
        _ => true,
    };
    let all = all.filter(is_there);
    let mut others = OTHERS.into_iter().cycle();
    let victim = |scheduler| {
        let scheduler: &AttackedScheduler = scheduler;
        let method = scheduler.notable.as_ref()?.method;
        let colour = match scheduler.role {
            Some(Role::Teacher) => ORANGE,
            Some(Role::Student) => BLUE,
            Some(Role::Augmented) => PURPLE,
            _ => others.next()?,
        };
        let is_usual = brief(&scheduler.workload) == brief(&run.info.workload);
        Some(Victim { name: name(run, scheduler), colour, scheduler, method, is_usual })
    };
    all.filter_map(victim).collect()
}

/// `student: student.json`, with what tells its workload from the run's.
fn name(run: &RunDir, scheduler: &AttackedScheduler) -> String {
    let policy = brief(&scheduler.policy);
    let name = scheduler.role.map_or_else(
        || policy.clone(),
        |role| match role {
            Role::Augmented => "augmented student".to_owned(),
            role => with_role(role, &policy),
        },
    );
    match elsewhere(run, &scheduler.workload) {
        Some(place) => format!("{name}, {place}"),
        None => name,
    }
}

/// What tells a workload from the run's: the parameters that it has beside those, or all of it; `None` of the run's.
fn elsewhere(run: &RunDir, workload: &str) -> Option<String> {
    if brief(workload) == brief(&run.info.workload) {
        return None;
    }
    let spec = |id: &str| id.parse::<Spec>().ok();
    let more = spec(workload).zip(spec(&run.info.workload)).and_then(|(here, usual)| {
        let same = (&here.name, &here.file) == (&usual.name, &usual.file);
        let kept = usual.params.iter().all(|(key, value)| here.params.get(key) == Some(value));
        let pairs = here.params.iter().filter(|(key, _)| !usual.params.contains_key(*key));
        (same && kept).then(|| pairs.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", "))
    });
    Some(more.unwrap_or_else(|| brief(workload)))
}

/// How much may be edited, in words.
fn allowed(budget: &EditBudget) -> String {
    let edits = match budget.edits {
        1 => "1 edit".to_owned(),
        n => format!("{n} edits"),
    };
    let within = |(sort, share): (&String, &f64)| format!(", {sort} ± {}\u{a0}%", number(100.0 * share));
    let sorts = match &budget.sorts[..] {
        [] => String::new(),
        sorts => format!(" ({})", sorts.join(", ")),
    };
    edits + &budget.shares.iter().map(within).collect::<String>() + &sorts
}

fn pair(e: &Estimate) -> (String, String) {
    (percent(e.value), format!("{} to {}", percent(e.low), percent(e.high)))
}

fn rows<'v>(victim: &'v Victim<'_>) -> impl Iterator<Item = TableRow> + use<'v> {
    let budgets = &victim.scheduler.params.budgets;
    let row = |f: &MethodFigures| TableRow {
        name: victim.name.clone(),
        budget: budgets.get(f.budget).map_or(String::new(), allowed),
        method: f.method.name(),
        sooner: pair(&f.sooner),
        much_sooner: pair(&f.much_sooner),
        change: pair(&f.change),
        net: f.net.as_ref().map(|[sooner, ..]| pair(sooner)),
        others: f.others.as_ref().map(pair),
    };
    victim.scheduler.figures.iter().map(row)
}

fn best(edit: &BestEdit) -> String {
    let BestEdit { episode, job, words, completion_ms: [before, after] } = edit;
    format!(
        "{}: job {job} of episode {episode} takes {} instead of {} ({:.0}\u{a0}% less).",
        capital(&words.join(", and ")),
        time(*after),
        time(*before),
        100.0 * (1.0 - after / before)
    )
}

fn sort(figures: &sched_distill_judge::attack::SortFigures) -> [String; 4] {
    let share = |n: usize| format!("{n} ({})", percent(n as f64 / figures.attempts.max(1) as f64));
    let [little, much] = figures.sooner.map(share);
    [figures.sort.clone(), count(figures.attempts as u64), little, much]
}

fn certificate_rows<'a>(
    run: &'a RunDir,
    student: &'a CertifiedStudent,
) -> impl Iterator<Item = CertificateRow> + use<'a> {
    let name = match run.student.has_hash(&student.student) {
        true => "this student".to_owned(),
        false => student.name.clone(),
    };
    let name = elsewhere(run, &student.workload).map_or_else(|| name.clone(), |place| format!("{name}, {place}"));
    let boxes = if student.certified.in_boxes.is_some() { " of recorded rows" } else { "" };
    student.certified.shares.iter().map(move |c| CertificateRow {
        name: name.clone(),
        within: match &c.sorts[..] {
            [] => format!("numbers{boxes}, ± {}\u{a0}%", number(100.0 * c.share)),
            sorts => format!("one {}", sorts.join(" or ")),
        },
        kind: c.kind.clone(),
        choices: count(c.choices as u64),
        certified: pair(&c.certified),
        pairs: pair(&c.pairs),
    })
}

/// A share with its interval, in a sentence.
fn share(e: &Estimate) -> String {
    interval(e, percent)
}
