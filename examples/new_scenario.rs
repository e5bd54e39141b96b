//! A scenario of one's own in one file, and a `distill` that has it (`docs/new-scenario.md` walks through it). Try
//! `cargo run --release --example new_scenario -- demo --scenario machine`.

use sched_distill::{
    cli,
    contract::{LevelTables, Tabular},
    feature::{Columns, Described, Level, Measured, Quantity},
    figure::{Better, Compared, Figure},
    foreign,
    level::{FeatureSet, Words, first_max},
    network::scorer::{SCORER, open_scorer},
    pipeline::Entry,
    policy::{Policy, PolicyDef, PolicyError},
    registry,
    rng::{EpisodeId, Stream},
    scenario::{Catalogue, Given, GuardTemplate, Questions, Said, Scenario, ScenarioInfo, State, rule},
    simulation::{JobEnd, Outcome, Simulated, Simulation, Source, Workload, WorkloadDef},
    spec::{Args, Spec, SpecError},
    workload::WorkloadError,
};
use serde::{Deserialize, Serialize};
use std::{error::Error, process::ExitCode, sync::LazyLock};

fn main() -> ExitCode {
    cli::main(registry::all().with(&MACHINE))
}

/// The entry in the registry.
pub(crate) static MACHINE: Entry<Machine> = Entry {
    teacher: "moore,temperature=0.2",
    baselines: &["edf", "fifo"],
    policies: || foreign::policies::beside(POLICIES),
    open: |spec| foreign::policies::open_beside(spec, POLICIES),
    attack: None,
};

/// A job as it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Job {
    pub(crate) arrival_ms: f64,
    pub(crate) length_ms: f64,
    pub(crate) deadline_ms: f64,
}

/// The machine is free: which of the waiting jobs runs next?
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) time_ms: f64,
    /// Those that have arrived.
    pub(crate) jobs: &'a [Job],
    /// Numbers of the waiting jobs, ascending.
    pub(crate) waiting: &'a [u32],
}

impl View<'_> {
    /// How long the job could still wait and be on time, ms; below 0 it cannot be.
    fn slack_ms(&self, job: u32) -> f64 {
        let job = &self.jobs[job as usize];
        job.deadline_ms - self.time_ms - job.length_ms
    }
}

/// One machine, jobs of known length with deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Machine;

const ON_TIME: &str = "Share of the jobs that are complete by their deadline.";

impl Scenario for Machine {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: "machine",
        meaning: "one machine, jobs of known length with deadlines",
        kinds: &["all-can", "some-late"],
        regime: "waiting",
        feature_set,
        words: Words::default,
        figures: &[Figure::new(["on_time", "share on time", "share"], Better::More, Compared::Difference, ON_TIME)],
        catalogue: CATALOGUE,
        lane: "machine",
        part: "run",
        parts: &[],
        may_abstain: false,
    };
    type View<'a> = View<'a>;
    type State = Moment;
    type Decision = u32;
    type Questions = Rows;

    fn time_ms(seen: &View<'_>) -> f64 {
        seen.time_ms
    }

    fn kind(seen: &View<'_>) -> u8 {
        u8::from(seen.waiting.iter().any(|&job| seen.slack_ms(job) < 0.0))
    }

    const LISTS: &'static [&'static str] = &["job"];

    /// A policy may say how probable each waiting job is.
    fn items(seen: &View<'_>) -> usize {
        seen.waiting.len()
    }

    fn item(seen: &View<'_>, job: u32) -> Option<usize> {
        seen.waiting.iter().position(|&other| other == job)
    }
}

/// Schedulers of others see the features of the waiting jobs.
impl Tabular for Machine {
    type Tables = LevelTables<Self>;
}

/// A question as a value: the waiting jobs by their numbers. `distill serve` reads it as JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Moment {
    time_ms: f64,
    jobs: Vec<Job>,
    waiting: Vec<u32>,
}

impl State<Machine> for Moment {
    /// There is little to tell: all of it again.
    type Change = Self;

    fn of(seen: &View<'_>) -> Self {
        Self { time_ms: seen.time_ms, jobs: seen.jobs.to_vec(), waiting: seen.waiting.to_vec() }
    }

    fn view(&self) -> Option<View<'_>> {
        let known = self.waiting.iter().all(|&job| (job as usize) < self.jobs.len());
        let view = View { time_ms: self.time_ms, jobs: &self.jobs, waiting: &self.waiting };
        (known && !self.waiting.is_empty()).then_some(view)
    }

    /// The machine is busy then: nothing follows.
    fn answer(&mut self, job: u32) -> Result<u32, Box<dyn Error + Send + Sync>> {
        self.waiting.binary_search(&job).map_err(|_| NotWaiting(job))?;
        self.waiting.clear();
        Ok(job)
    }

    fn change(&mut self, change: Self) -> Result<(), Box<dyn Error + Send + Sync>> {
        *self = change;
        Ok(())
    }

    fn extent(&self) -> usize {
        self.jobs.len()
    }
}

/// A waiting job, and its place among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    place: u32,
    job: Job,
    slack_ms: f64,
}

type Q = Described<Machine>;

impl Level for Machine {
    type Question<'a> = View<'a>;
    type Candidate<'a> = Waiting;

    const NAME: &'static str = "job";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        Q::time(Measured, "length", "How long the job runs.").compared(&|_, c| c.job.length_ms),
        Q::time(Measured, "due", "Time until the deadline.").ranked(&|seen, c| c.job.deadline_ms - seen.time_ms),
        Q::time(Measured, "slack", "How long the job could still wait and be on time.").ranked(&|_, c| c.slack_ms),
        Q::flag(Measured, "late", "Whether the job cannot be on time any more.").value(&|_, c| c.slack_ms < 0.0),
        Q::count(Measured, "arrival_rank", "1", "Place among the waiting jobs in order of arrival.")
            .value(&|_, c| c.place),
        Q::count(Measured, "waiting", "jobs", "Jobs that wait.")
            .shared("jobs that wait", &|seen| seen.waiting.len() as f64),
    ];
}

fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| FeatureSet {
        scenario: "machine".into(),
        levels: vec![Machine::spec("Which job runs next?", &["job"]).of("Waiting jobs, by arrival.")],
    });
    &SET
}

#[derive(Clone, Default)]
pub(crate) struct Rows(Columns<Machine>);

impl Questions<Machine> for Rows {
    fn update(&mut self, _: &View<'_>) {}

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        if !path.is_empty() {
            return 0;
        }
        let job =
            |(place, &job): (u32, &u32)| Waiting { place, job: seen.jobs[job as usize], slack_ms: seen.slack_ms(job) };
        self.0.write(seen, (0..).zip(seen.waiting).map(job), false, out)
    }

    fn count(&self, seen: &View<'_>, path: &[usize], _: bool) -> usize {
        if path.is_empty() { seen.waiting.len() } else { 0 }
    }

    fn entity(&self, seen: &View<'_>, path: &[usize], out: &mut Vec<u32>) {
        out.push(seen.waiting[path[0]]);
    }

    fn place(&self, seen: &View<'_>, path: &[usize], job: u32) -> Option<usize> {
        Machine::item(seen, job).filter(|_| path.is_empty())
    }

    fn decision(&self, seen: &View<'_>, path: &[usize]) -> u32 {
        seen.waiting[path[0]]
    }
}

const LATE_LAST: GuardTemplate =
    GuardTemplate { name: "late-last", text: "job: late last", values: &[], meaning: "late jobs wait for the others" };

/// What searches may try, and what teachers are compared with.
const CATALOGUE: Catalogue = Catalogue {
    guards: &[LATE_LAST],
    orders: &[("job", "length", false), ("job", "due", false)],
    borders: &[("job", "waiting", &[4.0, 8.0])],
    terms: &[],
    rules: &[
        rule("earliest-deadline", "job: smallest due", "earliest deadline first"),
        rule("shortest-job", "job: smallest length", "shortest job first"),
        rule("first-come", "job: smallest arrival_rank", "in order of arrival"),
    ],
};

/// A load of so many jobs.
#[derive(Debug)]
struct Load {
    jobs: u32,
    load: f64,
}

fn open_builtin(spec: &Spec) -> Result<Workload<Machine>, WorkloadError> {
    spec.refuse_file()?;
    let mut args = spec.args();
    let (jobs, load) = (args.count("jobs", 60, 1..=100_000)?, args.number("load", 1.1, 0.01..=100.0)?);
    args.finish()?;
    Ok(Workload::new((), Load { jobs, load }, Vec::new()))
}

impl Source<Machine> for Load {
    fn jobs(&self, _: &(), id: EpisodeId) -> Vec<Job> {
        let mut stream = Stream::new(id.seed, "jobs");
        let mut exponential = |mean_minutes: f64| -6e4 * mean_minutes * (1.0 - stream.uniform()).ln();
        let mut arrival_ms = 0.0;
        let mut draw = || {
            arrival_ms += exponential(1.0 / self.load);
            let length_ms = 1.0 + exponential(1.0);
            Job { arrival_ms, length_ms, deadline_ms: arrival_ms + length_ms + exponential(3.0) }
        };
        (0..self.jobs).map(|_| draw()).collect()
    }
}

impl Simulated for Machine {
    type Cluster = ();
    type Job = Job;
    type Simulator = Run;

    const WORKLOADS: &'static [WorkloadDef<Self>] = &[WorkloadDef::new(
        "builtin",
        "builtin[,jobs=60][,load=1.1]",
        "random arrivals, lengths and deadlines; load 1 is as much work as the machine can do",
        open_builtin,
    )];

    fn start(_: &Workload<Self>, jobs: Vec<Job>, _: u64) -> Run {
        let mut run = Run { ends_ms: vec![None; jobs.len()], jobs, ..Run::default() };
        run.until_free(0.0);
        run
    }
}

/// A running episode.
#[derive(Clone, Default)]
pub(crate) struct Run {
    jobs: Vec<Job>,
    /// When each job was completed.
    ends_ms: Vec<Option<f64>>,
    arrived: usize,
    waiting: Vec<u32>,
    time_ms: f64,
}

/// A job that does not wait.
#[derive(Debug, thiserror::Error)]
#[error("job {0} does not wait")]
pub(crate) struct NotWaiting(u32);

impl Run {
    /// Lets time pass to a moment, and on to the next arrival if no job waits then.
    fn until_free(&mut self, time_ms: f64) {
        self.time_ms = time_ms;
        let next = |run: &Self| run.jobs.get(run.arrived).map(|job| job.arrival_ms);
        while let Some(arrival_ms) = next(self).filter(|&ms| ms <= self.time_ms || self.waiting.is_empty()) {
            self.time_ms = self.time_ms.max(arrival_ms);
            self.waiting.push(self.arrived as u32);
            self.arrived += 1;
        }
    }
}

impl Simulation for Run {
    type Scenario = Machine;
    type Error = NotWaiting;

    fn view(&self) -> Option<View<'_>> {
        let view = View { time_ms: self.time_ms, jobs: &self.jobs[..self.arrived], waiting: &self.waiting };
        (!self.waiting.is_empty()).then_some(view)
    }

    fn check(&self, job: u32) -> Result<(), NotWaiting> {
        self.waiting.binary_search(&job).map(|_| ()).map_err(|_| NotWaiting(job))
    }

    fn step(&mut self, job: u32) -> Result<(), NotWaiting> {
        self.check(job)?;
        let end_ms = self.time_ms + self.jobs[job as usize].length_ms;
        self.waiting.retain(|&other| other != job);
        self.ends_ms[job as usize] = Some(end_ms);
        self.until_free(end_ms);
        Ok(())
    }

    fn outcome(&self) -> Option<Outcome> {
        let ends: Vec<f64> = self.ends_ms.iter().copied().flatten().collect();
        let on_time = ends.iter().zip(&self.jobs).filter(|(end, job)| **end <= job.deadline_ms).count();
        self.waiting.is_empty().then(|| Outcome {
            jobs: ends.iter().copied().map(JobEnd::Completed).collect(),
            figures: vec![("on_time", Some(on_time as f64 / ends.len() as f64))],
            final_time_ms: self.time_ms,
            total_reward: -self.cost(0.0, f64::INFINITY),
            events: 2 * ends.len() as u64,
            decisions: ends.len() as u64,
            stall: None,
            longest_idle_ms: None,
        })
    }

    fn arrivals_ms(&self) -> Vec<f64> {
        self.jobs.iter().map(|job| job.arrival_ms).collect()
    }

    fn completed_ms(&self, job: u32) -> Option<f64> {
        *self.ends_ms.get(job as usize)?
    }

    /// Jobs whose deadline passes without them: all jobs less those on time.
    fn cost(&self, from_ms: f64, to_ms: f64) -> f64 {
        let missed = |(job, end): (&Job, &Option<f64>)| end.is_none_or(|end| end > job.deadline_ms);
        let passes = |(job, _): &(&Job, &Option<f64>)| job.deadline_ms > from_ms && job.deadline_ms <= to_ms;
        self.jobs.iter().zip(&self.ends_ms).filter(passes).filter(|&pair| missed(pair)).count() as f64
    }
}

static POLICIES: &[PolicyDef<Machine>] = &[
    PolicyDef::rule("fifo", "fifo[,temperature=T]", "in order of arrival", |args| {
        order(args, |seen, job| seen.jobs[job as usize].arrival_ms)
    }),
    PolicyDef::rule("edf", "edf[,temperature=T]", "earliest deadline first", |args| {
        order(args, |seen, job| seen.jobs[job as usize].deadline_ms)
    }),
    PolicyDef::rule(
        "moore",
        "moore[,temperature=T]",
        "as edf among the jobs that can be on time; the others last",
        |args| {
            order(args, |seen, job| {
                seen.jobs[job as usize].deadline_ms + 1e9 * f64::from(u8::from(seen.slack_ms(job) < 0.0))
            })
        },
    ),
    PolicyDef::new(SCORER, open_scorer),
    PolicyDef::student(),
];

/// Takes the job with the least score; with a temperature it also says how much it prefers it, by the softmax of scores
/// per minute.
#[derive(Clone, Copy)]
struct Order {
    score: fn(&View<'_>, u32) -> f64,
    temperature: Option<f64>,
}

fn order(args: &mut Args<'_>, score: fn(&View<'_>, u32) -> f64) -> Result<Box<dyn Policy<Machine>>, SpecError> {
    Ok(Box::new(Order { score, temperature: args.optional_number("temperature", 1e-3..=1e3)? }))
}

impl Policy<Machine> for Order {
    fn fresh(&self) -> Box<dyn Policy<Machine>> {
        Box::new(*self)
    }

    fn decide(&mut self, seen: &View<'_>, said: &mut Said) -> Result<u32, PolicyError> {
        let scores = seen.waiting.iter().map(|&job| -(self.score)(seen, job));
        if let Some(temperature) = self.temperature {
            let scaled = scores.clone().map(|score| score / 6e4 / temperature);
            let all = Given::any(scaled.clone()).ln();
            said.joint.extend(scaled.map(|score| score - all));
        }
        Ok(seen.waiting[first_max(scores)])
    }
}
