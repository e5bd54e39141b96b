//! Recorded requests to language models: when they came, how long the context was and the answer. What a record lacks is a rule that
//! `docs/serving.md` states.

use super::{
    LESS, Service, ServingTask, ServingWorkload, TASK_BYTES,
    builtin::{Common, work_ms},
    cost::Cost,
    work,
};
use crate::{Server, Serving};
use sched_distill_core::{
    rng::{EpisodeId, Stream},
    simulation::{Costs, Dated, History, Source},
    spec::{Args, Spec},
    workload::{Cut, Work, WorkloadError, duration},
};
use sched_distill_histories::requests::Request;
use std::path::{Path, PathBuf};

/// Requests of a window where its spec names no length.
pub(super) const WINDOW_TASKS: u32 = 200;

/// What makes an episode less where a history is cut.
pub(super) const CUT_LESS: &str = "ask for a shorter `window`";

/// What is to be said of every history that is cut.
pub(super) const NOBODY_WAITS: &str =
    "when requests were answered is not recorded: an episode begins with nobody waiting";

/// Recorded requests, in order of arrival.
#[derive(Clone, Debug)]
pub struct Requests {
    /// With arrivals in ms as they were recorded.
    all: Vec<ServingTask>,
    /// How much faster they come.
    speed: f64,
    understated: f64,
}

impl Source<Serving> for Requests {
    /// The most that there can be.
    fn work(&self, service: &Service) -> Work {
        let (span_ms, mut end, mut most) = (service.horizon_ms * self.speed, 0, 0);
        for (place, task) in self.all.iter().enumerate() {
            while self.all.get(end).is_some_and(|other| other.arrival_ms < task.arrival_ms + span_ms) {
                end += 1;
            }
            most = most.max(end.saturating_sub(place));
        }
        work(most as f64, service)
    }

    /// Those of a span from a moment on that the seed draws.
    fn jobs(&self, service: &Service, id: EpisodeId) -> Vec<ServingTask> {
        let mut stream = Stream::new(id.seed, "recorded requests");
        let (span_ms, last_ms) = (service.horizon_ms * self.speed, self.all.last().map_or(0.0, |task| task.arrival_ms));
        let mut from_ms = stream.uniform() * (last_ms - span_ms).max(0.0);
        let from = self.all.partition_point(|task| task.arrival_ms < from_ms);
        if let Some(next) = self.all.get(from).filter(|task| task.arrival_ms >= from_ms + span_ms) {
            // Nothing came for so long: an episode has a task at least.
            from_ms = next.arrival_ms;
        }
        let here = self.all[from..].iter().take_while(|task| task.arrival_ms < from_ms + span_ms);
        here.map(|task| {
            let declared_size = declared(task.size, self.understated, &mut stream);
            ServingTask { arrival_ms: (task.arrival_ms - from_ms) / self.speed, declared_size, ..*task }
        })
        .collect()
    }

    /// As fast as they were recorded.
    fn all_jobs(&self, _: &Service) -> Option<Vec<ServingTask>> {
        let mut all = self.all.clone();
        declare(&mut all, self.understated);
        Some(all)
    }
}

/// Who declares half of a list of requests is drawn once.
fn declare(all: &mut [ServingTask], understated: f64) {
    let mut stream = Stream::new(0, "recorded requests");
    for task in all {
        task.declared_size = declared(task.size, understated, &mut stream);
    }
}

/// The size that a user declares: half of it, for so large a share of them.
fn declared(size: u32, understated: f64, stream: &mut Stream) -> u32 {
    if stream.uniform() < understated { size.div_ceil(2) } else { size }
}

impl Dated for ServingTask {
    fn arrival_ms(&self) -> f64 {
        self.arrival_ms
    }

    fn arriving(self, arrival_ms: f64) -> Self {
        Self { arrival_ms, ..self }
    }
}

/// What a file has: its requests, in whatever order, and what is to be said of them.
pub(super) type Recording = (Vec<Request>, Vec<String>);

/// Opens the requests of a file, which is read by a function of its own.
pub(super) fn open(
    spec: &Spec,
    path: &Path,
    read: impl FnOnce(&Path) -> Result<Recording, WorkloadError>,
) -> Result<ServingWorkload, WorkloadError> {
    let mut args = spec.args();
    let mut common = Common::read(&mut args, 3, 60.0, 50.0, 5000.0)?;
    let cost = Cost::from_args(&mut args)?;
    let cut = Cut::from_args(&mut args)?;
    refuse_both(spec, &args, &cut)?;
    args.finish()?;
    let cost = cost.load()?;
    let (requests, notes) = read(path)?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    let mut all = tasks(&requests, &cost, &mut common).map_err(format)?;
    let all_ms: f64 = all.iter().map(|t| work_ms(&common.server.applications[t.application as usize], t.size)).sum();
    let lasted_ms = all[all.len() - 1].arrival_ms;
    let speed = common.load * f64::from(common.server.accelerators) * lasted_ms / all_ms;
    let notes = notes.into_iter().chain(cost.notes(&common.server, &all));
    let files: Vec<PathBuf> = std::iter::once(path.to_owned()).chain(cost.file()).collect();
    if cut.is_whole() {
        if speed * common.horizon_ms > lasted_ms {
            return Err(format(format!(
                "at this load {} s take requests of {:.0} s, and the file has {:.0} s; ask for fewer seconds",
                common.horizon_ms / 1e3,
                speed * common.horizon_ms / 1e3,
                lasted_ms / 1e3
            )));
        }
        let said = format!(
            "an episode has the requests of {} from a moment on that is drawn (`seconds`; `split=time` cuts them by time), {speed:.3} times as \
             fast as they were recorded, which is a load of {:.3} over the whole file (`load` sets another)",
            duration(common.horizon_ms),
            common.load,
        );
        let requests = Requests { all, speed, understated: common.understated };
        let workload = ServingWorkload::new(common.service(Vec::new()), requests, files).checked(spec, LESS)?;
        return Ok(workload.with_notes(notes.chain([said])));
    }
    let cut = if spec.params.contains_key("load") { cut.at_rate(speed) } else { cut };
    declare(&mut all, common.understated);
    let costs = Costs { events: &|_: &ServingTask| super::events(1.0), bytes: TASK_BYTES };
    let history = History::new(all, &cut, WINDOW_TASKS, &costs).map_err(format)?;
    common.horizon_ms = history.window_ms().unwrap_or(common.horizon_ms);
    let said = cut_notes(cut.rate(), cut.rate() * common.load / speed);
    let workload = history.on(common.service(Vec::new()), files).checked(spec, CUT_LESS)?;
    Ok(workload.with_notes(notes.chain(said)))
}

/// How fast requests come, and how long an episode lasts, is said once.
fn refuse_both(spec: &Spec, args: &Args<'_>, cut: &Cut) -> Result<(), WorkloadError> {
    let is_cut = !cut.is_whole();
    let refused = |key: &str, allowed: &str| match spec.params.get(key) {
        Some(value) => Err(args.conflict(key, value, allowed).into()),
        None => Ok(()),
    };
    if is_cut {
        refused("seconds", "left out with a `split`, where `window` is how long an episode lasts")?;
    }
    match is_cut {
        true if spec.params.contains_key("load") => {
            refused("rate", "left out with a `load`, which says how fast requests come")
        }
        true => Ok(()),
        false => refused(
            "rate",
            "given with split=time or split=interleaved; without a `split`, `load` says how fast requests come",
        ),
    }
}

/// What is to be said of a history that is cut.
fn cut_notes(rate: f64, load: f64) -> [String; 2] {
    [
        format!(
            "requests come {rate:.3} times as fast as they were recorded, which is a load of {load:.3} over the whole file (`rate` or `load` sets \
             another)"
        ),
        NOBODY_WAITS.to_owned(),
    ]
}

/// The requests as tasks, in order of arrival, of applications that the server is given: the parts of the requests by context, of equal number.
fn tasks(requests: &[Request], cost: &Cost, common: &mut Common) -> Result<Vec<ServingTask>, String> {
    let sizes: Vec<u32> = requests.iter().map(|request| cost.size(request)).collect();
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&i| (requests[i].context, i));
    let count = common.applications as usize;
    if requests.len() < 2 * count {
        return Err(format!("{} requests are too few for {count} applications", requests.len()));
    }
    let mut belongs = vec![0u32; requests.len()];
    for (place, &i) in order.iter().enumerate() {
        belongs[i] = (place * count / requests.len()) as u32;
    }
    for application in 0..count as u32 {
        let mut own: Vec<u32> = (0..requests.len()).filter(|&i| belongs[i] == application).map(|i| sizes[i]).collect();
        own.sort_unstable();
        let name = format!("context-{}", application + 1);
        let made = common.application(&name, cost.law(), own[own.len() / 2], None);
        common.server.applications.push(made);
    }
    let mut all: Vec<ServingTask> = (0..requests.len())
        .map(|i| ServingTask {
            application: belongs[i],
            arrival_ms: requests[i].arrival_ms,
            size: sizes[i],
            declared_size: sizes[i],
        })
        .collect();
    all.sort_by(|a, b| a.arrival_ms.total_cmp(&b.arrival_ms));
    Ok(all)
}

/// Numbers of tasks that batches of a server take time for, ascending: those that its models are compiled for, if they are.
pub(super) fn counts(server: &Server) -> Vec<u32> {
    let mut counts: Vec<u32> = server.applications.iter().flat_map(|a| (1..=a.most).map(|n| a.padded(n))).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a unit of one token, in which nothing that is generated counts, sizes are contexts: their sum is that of another reading, which
    /// `crates/histories/tests/requests.rs` has.
    #[test]
    #[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
    fn tasks_have_all_tokens() -> Result<(), Box<dyn std::error::Error>> {
        let path = "../../../shared/histories/llm/mooncake_conversation_4000.jsonl";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let log = sched_distill_histories::requests::read(&path, &mut |_, _| {})?;
        let of = |params: &str| -> Result<Vec<ServingTask>, Box<dyn std::error::Error>> {
            let spec: Spec = format!("mooncake,{params}").parse()?;
            let mut args = spec.args();
            let mut common = Common::read(&mut args, 3, 60.0, 50.0, 5000.0)?;
            Ok(tasks(&log.requests, &Cost::from_args(&mut args)?.load()?, &mut common)?)
        };
        let sum = |tasks: &[ServingTask]| tasks.iter().map(|task| u64::from(task.size)).sum::<u64>();
        let all = of("unit=1,decode=0")?;
        assert_eq!((all.len(), sum(&all)), (4000, 53_249_359));
        assert_eq!(sum(&of("unit=1,decode=1")?), 53_249_359 + 1_388_321);
        assert_eq!(all.last().map(|task| task.arrival_ms), Some(1_301_999.0));
        let each = |application: u32| all.iter().filter(|task| task.application == application).count();
        assert_eq!([each(0), each(1), each(2)], [1334, 1333, 1333]);
        Ok(())
    }
}
