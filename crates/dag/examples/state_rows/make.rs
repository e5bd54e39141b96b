//! States to compare: those of simulated episodes, drawn ones that no episode has, and what may have changed in them.

use crate::drawn;
use sched_distill_core::{rng::Stream, scenario::Said, simulation::Simulation as _};
use sched_distill_dag::{Change, ClusterState, Decision, View, policies, simulator::Simulator, workload};
use serde_json::{Value, json};
use std::{
    error::Error,
    fs::File,
    io::{BufWriter, Write},
};

/// Workloads, who schedules them, and how often it gives nothing instead; those of large states are last.
const EPISODES: [(&str, &str, f64); 14] = [
    ("builtin", "srpt-fair", 0.0),
    ("builtin,jobs=30", "fifo", 0.05),
    ("builtin,jobs=25,edge=chains", "sjf-cp,temperature=0.5,mode=sample", 0.1),
    ("builtin,jobs=20,edge=wide", "fair", 0.0),
    ("builtin,jobs=40,edge=mix,executors=50", "random", 0.02),
    ("builtin,edge=half-executors", "weighted-fair", 0.0),
    ("builtin,edge=bursts", "sjf", 0.1),
    ("builtin,jobs=30,edge=giant,executors=40", "srpt-fair", 0.3),
    ("builtin,jobs=30,edge=long-tail", "random", 0.2),
    ("builtin,edge=double-rate,executors=20", "fair", 0.0),
    ("builtin,jobs=8,executors=2", "fifo", 0.5),
    ("builtin,jobs=8,executors=1", "random", 0.3),
    ("builtin,jobs=40,rate=1e-3,executors=30", "sjf-cp", 0.0),
    ("builtin,jobs=80,rate=1,executors=60", "random", 0.01),
];

/// Questions written of an episode, in the mean, and of one with large states.
const PER_EPISODE: f64 = 70.0;
const PER_LARGE: f64 = 10.0;
const LARGE: usize = 2;

/// Drawn states for each episode of each workload.
const DRAWN_PER_EPISODE: usize = 40;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Lines that are written with rising numbers.
struct Lines {
    out: BufWriter<File>,
    next: u64,
    stream: Stream,
}

impl Lines {
    fn write(&mut self, what: &str, value: &Value) -> Outcome<()> {
        self.next += 1;
        writeln!(self.out, "{}", json!({"id": self.next, what: value}))?;
        Ok(())
    }

    /// A state, and now and then what changes after it.
    fn state(&mut self, value: &Value) -> Outcome<()> {
        self.write("state", value)?;
        if self.stream.uniform() > 0.2 {
            return Ok(());
        }
        let Ok(mut state) = serde_json::from_value::<ClusterState>(value.clone()) else { return Ok(()) };
        for _ in 0..=self.stream.below(3) {
            let change = drawn::change(&serde_json::to_value(&state)?, &mut self.stream);
            self.write("change", &change)?;
            let Ok(()) = state.change(serde_json::from_value::<Change>(change)?) else { break };
        }
        Ok(())
    }
}

/// Writes states and changes to a file.
pub(crate) fn make(file: &str, episodes: usize) -> Outcome<()> {
    let out = BufWriter::new(File::create(file)?);
    let mut lines = Lines { out, next: 0, stream: Stream::new(1, "state rows") };
    for seed in 0..episodes as u64 {
        for (place, &(workload, policy, abstains)) in EPISODES.iter().enumerate() {
            let wanted = if place + LARGE < EPISODES.len() { PER_EPISODE } else { PER_LARGE };
            let share = wanted / play(workload, policy, seed, &mut |_| Ok(false))? as f64;
            let mut draw = Stream::new(seed, workload);
            play(workload, policy, seed, &mut |seen| {
                if draw.uniform() < share {
                    let mut value = serde_json::to_value(seen)?;
                    if draw.uniform() < 0.1 {
                        value["again"] = json!(true);
                    }
                    lines.state(&value)?;
                }
                Ok(draw.uniform() < abstains)
            })?;
            for _ in 0..DRAWN_PER_EPISODE {
                let value = drawn::state(&mut lines.stream);
                lines.state(&value)?;
            }
        }
    }
    println!("{} lines", lines.next);
    Ok(lines.out.flush()?)
}

/// Plays an episode; `each` is shown every question, and says whether nothing is given instead of what the policy says. Returns how many
/// there were.
fn play(workload: &str, policy: &str, seed: u64, each: &mut dyn FnMut(&View<'_>) -> Outcome<bool>) -> Outcome<usize> {
    let workload = workload::open(&workload.parse()?)?;
    let mut policy = policies::open(&policy.parse()?)?;
    policy.reset(seed);
    let mut episode = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
    let mut questions = 0;
    while let Some(seen) = episode.view() {
        let gives_nothing = each(&seen)?;
        let decision = policy.decide(&seen, &mut Said::default())?;
        episode.step(if gives_nothing { Decision::Abstain } else { decision })?;
        questions += 1;
    }
    Ok(questions)
}
