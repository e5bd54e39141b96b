//! Recorded requests to a language model: when they came, how long the context was and the answer. What a record lacks is a rule that
//! `docs/serving.md` states.

use super::{
    LESS, Service, ServingTask, ServingWorkload,
    builtin::{Common, work_ms},
    work,
};
use crate::{Law, Serving};
use sched_distill_core::{
    rng::{EpisodeId, Stream},
    simulation::Source,
    spec::Spec,
    workload::{Table, Work, WorkloadError},
};

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
            let half = stream.uniform() < self.understated;
            let declared_size = if half { task.size.div_ceil(2) } else { task.size };
            ServingTask { arrival_ms: (task.arrival_ms - from_ms) / self.speed, declared_size, ..*task }
        })
        .collect()
    }
}

/// Opens `azure:FILE`.
pub(super) fn open(spec: &Spec) -> Result<ServingWorkload, WorkloadError> {
    let path = spec.require_file("recorded requests with the columns arrival_s, context_tokens, generated_tokens")?;
    let path = path.to_owned();
    let mut args = spec.args();
    let mut common = Common::read(&mut args, 3, 60.0, 50.0, 5000.0)?;
    let alpha_ms = args.number("alpha", 20.0, 0.0..=1e6)?;
    let beta_ms = args.number("beta", 0.05, 1e-6..=1e3)?;
    let decode = args.number("decode", 20.0, 0.0..=1e4)?;
    let unit = args.count("unit", 64, 1..=1 << 20)?;
    args.finish()?;
    let table = Table::load(&path)?;
    let format = |problem: String| WorkloadError::Format { path: path.clone(), problem };
    let raw = Raw::read(&table).map_err(format)?;
    let per_unit_ms = beta_ms * f64::from(unit);
    let sizes: Vec<u32> = raw.iter().map(|r| r.size(decode, unit)).collect();
    let mut order: Vec<usize> = (0..raw.len()).collect();
    order.sort_by_key(|&i| (raw[i].context, i));
    let count = common.applications as usize;
    if raw.len() < 2 * count {
        return Err(format(format!("{} requests are too few for {count} applications", raw.len())));
    }
    // Which application a request belongs to: by its context, as many to each.
    let mut belongs = vec![0u32; raw.len()];
    for (place, &i) in order.iter().enumerate() {
        belongs[i] = (place * count / raw.len()) as u32;
    }
    for application in 0..count as u32 {
        let mut own: Vec<u32> = (0..raw.len()).filter(|&i| belongs[i] == application).map(|i| sizes[i]).collect();
        own.sort_unstable();
        let law = Law::Padded { alpha_ms, beta_ms: per_unit_ms };
        let name = format!("context-{}", application + 1);
        let made = common.application(&name, law, own[own.len() / 2], None);
        common.server.applications.push(made);
    }
    let mut all: Vec<ServingTask> = (0..raw.len())
        .map(|i| ServingTask {
            application: belongs[i],
            arrival_ms: raw[i].arrival_ms,
            size: sizes[i],
            declared_size: sizes[i],
        })
        .collect();
    all.sort_by(|a, b| a.arrival_ms.total_cmp(&b.arrival_ms));
    let all_ms: f64 = all.iter().map(|t| work_ms(&common.server.applications[t.application as usize], t.size)).sum();
    let lasted_ms = all[all.len() - 1].arrival_ms;
    let speed = common.load * f64::from(common.server.accelerators) * lasted_ms / all_ms;
    if speed * common.horizon_ms > lasted_ms {
        return Err(format(format!(
            "at this load {} s take requests of {:.0} s, and the file has {:.0} s; ask for fewer seconds",
            common.horizon_ms / 1e3,
            speed * common.horizon_ms / 1e3,
            lasted_ms / 1e3
        )));
    }
    let requests = Requests { all, speed, understated: common.understated };
    ServingWorkload::new(common.service(Vec::new()), requests, vec![path]).checked(spec, LESS)
}

/// A request as it was recorded.
struct Raw {
    arrival_ms: f64,
    context: u32,
    generated: u32,
}

impl Raw {
    fn read(table: &Table) -> Result<Vec<Self>, String> {
        let arrivals = table.numbers("arrival_s", 0.0..=1e9)?;
        let contexts = table.counts("context_tokens", 0..=1 << 20)?;
        let generated = table.counts("generated_tokens", 0..=1 << 16)?;
        let rows = arrivals.into_iter().zip(contexts).zip(generated);
        Ok(rows.map(|((s, context), generated)| Self { arrival_ms: 1e3 * s, context, generated }).collect())
    }

    /// Context and generated tokens, of which each counts so many of the context, in units.
    fn size(&self, decode: f64, unit: u32) -> u32 {
        let tokens = f64::from(self.context) + decode * f64::from(self.generated);
        (tokens / f64::from(unit)).ceil().max(1.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_tasks() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("requests.csv");
        let mut text = "arrival_s,context_tokens,generated_tokens\n".to_owned();
        for i in 0..600 {
            text += &format!("{},{},{}\n", i, 64 * (1 + i % 3), i % 2);
        }
        std::fs::write(&path, text)?;
        let open = |more: &str| ServingWorkload::open(&format!("azure:{}{more}", path.display()).parse().unwrap());
        let workload = open(",seconds=2,load=0.5")?;
        let tasks = workload.jobs(1);
        assert_eq!(tasks, workload.jobs(1));
        // Three applications by context; a generated token counts twenty, and units are rounded up.
        assert!(tasks.iter().all(|task| task.size == task.application + 1 || task.size == task.application + 2));
        let work: f64 = tasks
            .iter()
            .map(|task| work_ms(&workload.cluster().server.applications[task.application as usize], task.size))
            .sum();
        assert!((work / 2000.0 - 0.5).abs() < 0.02, "{work}");
        // Much shorter than the time between two requests.
        let workload = open(",seconds=0.01,load=0.5")?;
        assert!((0..50).all(|seed| workload.jobs(seed).len() == 1));
        for (more, expected) in [
            (",seconds=600", "and the file has 599 s; ask for fewer seconds"),
            (",applications=64,unit=0", "unit"),
            (",spread=1", "spread"),
        ] {
            let message = open(more).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        std::fs::write(&path, "arrival_s,context_tokens,generated_tokens\n1,x,2\n")?;
        let message = open("").unwrap_err().to_string();
        assert!(message.contains("line 2, column 2 (`context_tokens`)"), "{message}");
        Ok(())
    }
}
