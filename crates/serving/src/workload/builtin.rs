//! Generated tasks: arrivals and sizes drawn anew in every episode.

use super::{EDGE_CASES, EdgeCase, LESS, Service, ServingTask, ServingWorkload, edge, work};
use crate::{Application, Batch, Law, Server, Serving, server::MOST_SIZE};
use sched_distill_core::{
    rng::{EpisodeId, Stream, hash},
    simulation::Source,
    spec::{Args, Spec, SpecError},
    workload::{Work, WorkloadError, edge_case, read_text},
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// How tasks are generated; `docs/serving.md` has the source of every number.
#[derive(Clone, Debug)]
pub struct Generator {
    /// By application: tasks per ms, and sizes.
    streams: Vec<Sizes>,
    /// Share of users who declare half of their size.
    understated: f64,
    /// What strains the scheduler, if anything.
    edge: Option<EdgeCase>,
}

/// Sizes of an application's tasks, and how many come.
#[derive(Clone, Debug)]
struct Sizes {
    rate: f64,
    least: u32,
    most: u32,
    /// Standard deviation of the logarithm around their geometric mean.
    spread: f64,
    /// What memory holds.
    held: u32,
}

/// A model that generated tasks are asked of: what the file of `models:FILE` has, and `distill profile-model` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What applications of it are called.
    pub name: String,
    /// How long batches take.
    pub law: Law,
    /// The least and the largest size of tasks.
    pub sizes: [u32; 2],
    /// Tasks of a batch at most.
    pub most: u32,
    /// The ONNX file that it is in, as seen from the folder of the list, for those who run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// The models of `builtin`; with `dynamic` those build graphs whose tasks are not all of one size.
fn known(dynamic: bool) -> Vec<Model> {
    let model = |(name, [alpha_ms, beta_ms], sizes): (&str, [f64; 2], [u32; 2])| {
        let law = match dynamic && sizes[0] < sizes[1] {
            true => Law::Dynamic { alpha_ms, beta_ms, parallel: 4 },
            false => Law::Padded { alpha_ms, beta_ms },
        };
        Model { name: name.to_owned(), law, sizes, most: 16, file: None }
    };
    let all = [
        ("text", [3.0, 0.03], [8, 60]),
        ("tree", [6.0, 0.08], [10, 40]),
        ("image", [2.0, 0.6], [1, 1]),
        ("dialogue", [3.0, 0.03], [8, 60]),
        ("video", [8.0, 2.2], [1, 1]),
    ];
    all.into_iter().map(model).collect()
}

/// Draws by which the mean work of a task is worked out.
const DRAWS: u32 = 4096;

impl Sizes {
    fn draw(&self, stream: &mut Stream) -> u32 {
        let (least, most) = (f64::from(self.least), f64::from(self.most));
        let size = (least * most).sqrt() * (self.spread * stream.normal()).exp();
        size.round().clamp(least, most) as u32
    }
}

impl Generator {
    /// How many tasks of an application arrive at each of its moments.
    fn at_once(&self) -> u32 {
        self.edge.map_or(1, EdgeCase::at_once)
    }

    /// Tasks of an application per ms, in the mean.
    fn rate(&self, application: u32) -> f64 {
        let demand = self.edge.map_or(1.0, |edge| edge.demand(application, self.streams.len()));
        self.streams[application as usize].rate * demand
    }

    /// The moments at which tasks of an application arrive. Each application has its own luck: what others do changes nothing.
    fn arrivals(&self, application: u32, horizon_ms: f64, seed: u64) -> impl Iterator<Item = f64> + use<> {
        let mut stream = Stream::new(hash(&[seed, application.into()]), "arrivals of tasks");
        let mean_ms = f64::from(self.at_once()) / self.rate(application);
        let mut now_ms = 0.0;
        std::iter::from_fn(move || {
            now_ms += stream.exponential(mean_ms);
            (now_ms < horizon_ms).then_some(now_ms)
        })
    }
}

impl Source<Serving> for Generator {
    /// In the mean.
    fn work(&self, service: &Service) -> Work {
        let rate: f64 = (0..self.streams.len() as u32).map(|application| self.rate(application)).sum();
        work(service.horizon_ms * rate, service)
    }

    fn has_more_jobs(&self, service: &Service, id: EpisodeId, most: usize) -> bool {
        let (applications, at_once) = (0..self.streams.len() as u32, self.at_once() as usize);
        let moments = applications.flat_map(|application| self.arrivals(application, service.horizon_ms, id.seed));
        moments.take(most / at_once + 1).count() * at_once > most
    }

    fn jobs(&self, service: &Service, EpisodeId { seed, .. }: EpisodeId) -> Vec<ServingTask> {
        let mut tasks = Vec::new();
        for (application, sizes) in (0..).zip(&self.streams) {
            let mut drawn = Stream::new(hash(&[seed, application.into()]), "sizes of tasks");
            let mut place = 0u32;
            for arrival_ms in self.arrivals(application, service.horizon_ms, seed) {
                for _ in 0..self.at_once() {
                    let usual = sizes.draw(&mut drawn);
                    let size = self.edge.map_or(usual, |edge| edge.size(place, usual)).min(sizes.held);
                    let half =
                        drawn.uniform() < self.edge.map_or(self.understated, |e| e.understated(self.understated));
                    let declared_size = if half { size.div_ceil(2) } else { size };
                    tasks.push(ServingTask { application, arrival_ms, size, declared_size });
                    place += 1;
                }
            }
        }
        // Stable: of one moment those of the first application come first.
        tasks.sort_by(|a, b| a.arrival_ms.total_cmp(&b.arrival_ms));
        tasks
    }
}

/// What the generator and recorded requests have in common.
pub(super) struct Common {
    pub(super) load: f64,
    pub(super) horizon_ms: f64,
    pub(super) tail_ms: f64,
    pub(super) applications: u32,
    pub(super) server: Server,
    pub(super) understated: f64,
    /// Objective ÷ the time of a task of typical size alone.
    objective: f64,
    timeout_ms: f64,
    shapes: Vec<u32>,
    queue: u32,
}

impl Common {
    /// Reads it, with defaults for the number of applications, how long tasks arrive (s), timeouts and half-lives (ms).
    pub(super) fn read(
        args: &mut Args<'_>,
        applications: u32,
        seconds: f64,
        timeout_ms: f64,
        half_life_ms: f64,
    ) -> Result<Self, SpecError> {
        Ok(Self {
            load: args.number("load", 0.9, 0.01..=100.0)?,
            horizon_ms: 1e3 * args.number("seconds", seconds, 0.01..=1e5)?,
            tail_ms: args.number("tail", f64::INFINITY, 1.0..=1e12)?,
            applications: args.count("applications", applications, 1..=64)?,
            server: Server {
                accelerators: args.count("accelerators", 1, 1..=64)?,
                half_life_ms: args.number("half-life", half_life_ms, 1.0..=1e9)?,
                applications: Vec::new(),
            },
            understated: args.number("understated", 0.0, 0.0..=1.0)?,
            objective: args.number("objective", 20.0, 1.0..=1e6)?,
            timeout_ms: args.number("timeout", timeout_ms, 1e-3..=1e9)?,
            shapes: shapes(args)?,
            queue: args.count("queue", 10_000, 1..=1 << 30)?,
        })
    }

    /// What it comes to, with the files of the models that are asked.
    pub(super) fn service(self, models: Vec<Option<(PathBuf, u32)>>) -> Service {
        Service { server: Arc::new(self.server), horizon_ms: self.horizon_ms, tail_ms: self.tail_ms, models }
    }

    /// An application whose tasks have about this size.
    pub(super) fn application(&self, name: &str, law: Law, size: u32, most_units: Option<u64>) -> Application {
        let mut application = Application {
            timeout_ms: self.timeout_ms,
            shapes: self.shapes.clone(),
            most_units,
            queue: self.queue,
            ..Application::new(name, law, 1.0)
        };
        application.objective_ms = self.objective * application.solo_ms(size);
        application
    }
}

fn shapes(args: &mut Args<'_>) -> Result<Vec<u32>, SpecError> {
    let Some(text) = args.text("shapes") else { return Ok(Vec::new()) };
    let shapes: Option<Vec<u32>> = text.split('/').map(|x| x.parse().ok().filter(|x| (1..=4096).contains(x))).collect();
    let is_shaped = |s: &Vec<u32>| s.is_sorted_by(|a, b| a < b) && s.last().is_some_and(|last| *last >= 16);
    shapes.filter(is_shaped).ok_or_else(|| {
        let allowed = "ascending numbers with / between them, the last from 16 to 4096, such as 1/2/4/8/16";
        args.conflict("shapes", &text, allowed)
    })
}

/// Accelerator time per task in full batches of tasks of its size, ms.
pub(super) fn work_ms(application: &Application, size: u32) -> f64 {
    let most = application.most;
    let full = Batch { count: most, largest: size, total: u64::from(most) * u64::from(size) };
    application.ms(full) / f64::from(most)
}

/// Opens `builtin`.
pub(super) fn open(spec: &Spec) -> Result<ServingWorkload, WorkloadError> {
    spec.refuse_file()?;
    let mut args = spec.args();
    let models = known(args.word("law", &["padded", "dynamic"])? == "dynamic");
    generated(spec, args, &models, Vec::new())
}

/// Opens `models:FILE`.
pub(super) fn open_models(spec: &Spec) -> Result<ServingWorkload, WorkloadError> {
    let path = spec.require_file("models as `distill profile-model` writes them")?;
    let text = read_text(path)?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    let raw: RawModels =
        serde_json::from_str(&text).map_err(|e| format(format!("not a list of models (docs/serving.md): {e}")))?;
    if raw.models.is_empty() || raw.models.len() > 64 {
        return Err(format(format!("`models` has {} models; 1 to 64 are possible", raw.models.len())));
    }
    for model in &raw.models {
        let [least, most] = model.sizes;
        if !(1..=most).contains(&least) || most > MOST_SIZE {
            let problem = format!("must be two numbers in order, in 1..={MOST_SIZE}, got {least} and {most}");
            return Err(format(format!("model `{}`: sizes {problem}", model.name)));
        }
    }
    generated(spec, spec.args(), &raw.models, vec![path.to_owned()])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModels {
    models: Vec<Model>,
}

/// Tasks of applications of these models.
fn generated(
    spec: &Spec,
    mut args: Args<'_>,
    models: &[Model],
    files: Vec<PathBuf>,
) -> Result<ServingWorkload, WorkloadError> {
    let mut common = Common::read(&mut args, models.len() as u32, 2.0, 5.0, 500.0)?;
    let spread = args.number("spread", 0.6, 0.0..=3.0)?;
    let by_work = args.word("mix", &["rate", "work"])? == "work";
    let memory = args.optional_count("memory", 60..=1 << 30)?;
    let edge = edge_case(&mut args, EDGE_CASES, &edge::CASES)?;
    args.finish()?;
    let (mut streams, mut asked) = (Vec::new(), Vec::new());
    for place in 0..common.applications as usize {
        let Model { name, law, sizes: [least, most], most: batch, file } = &models[place % models.len()];
        let name = match place / models.len() {
            0 => name.clone(),
            again => format!("{name}-{}", again + 1),
        };
        let typical = (f64::from(*least) * f64::from(*most)).sqrt().round() as u32;
        let mut application = common.application(&name, law.clone(), typical, memory.map(u64::from));
        application.most = *batch;
        let held = application.most_size();
        if held == 0 {
            let allowed = format!("at least {}, one task of the smallest compiled shape", application.padded(1));
            let memory = memory.unwrap_or(0).to_string();
            return Err(spec.args().conflict("memory", &memory, &allowed).into());
        }
        common.server.applications.push(application);
        // As seen from the folder of the list.
        let folder = files.first().and_then(|list| list.parent()).unwrap_or(Path::new(""));
        asked.push(file.as_ref().map(|file| (folder.join(file), *most)));
        streams.push(Sizes { rate: 0.0, least: *least, most: *most, spread, held });
    }
    if let Err(problem) = common.server.check() {
        let path = files.first().cloned().unwrap_or_default();
        return Err(WorkloadError::Format { path, problem });
    }
    let mut stream = Stream::new(0, "work of tasks");
    let mut mean_ms = |(application, sizes): (&Application, &Sizes)| {
        (0..DRAWS).map(|_| work_ms(application, sizes.draw(&mut stream))).sum::<f64>() / f64::from(DRAWS)
    };
    let mean_ms: Vec<f64> = common.server.applications.iter().zip(&streams).map(&mut mean_ms).collect();
    // Load 1 is as much work, in full batches, as the accelerators have time for.
    let total = common.load * f64::from(common.server.accelerators);
    let (all_ms, count) = (mean_ms.iter().sum::<f64>(), mean_ms.len() as f64);
    for (sizes, mean_ms) in streams.iter_mut().zip(&mean_ms) {
        sizes.rate = if by_work { total / (mean_ms * count) } else { total / all_ms };
    }
    let generator = Generator { streams, understated: common.understated, edge };
    ServingWorkload::new(common.service(asked), generator, files).checked(spec, LESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<ServingWorkload, String> {
        ServingWorkload::open(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    /// Work that arrives per ms, in full batches.
    fn offered(workload: &ServingWorkload, tasks: &[ServingTask]) -> Vec<f64> {
        let mut work = vec![0.0; workload.cluster().server.applications.len()];
        for task in tasks {
            let application = &workload.cluster().server.applications[task.application as usize];
            work[task.application as usize] += work_ms(application, task.size) / workload.cluster().horizon_ms;
        }
        work
    }

    #[test]
    fn load_is_work_in_full_batches() {
        for (spec, load) in [("builtin,load=0.5,seconds=100", 0.5), ("builtin,load=1.1,accelerators=3,seconds=50", 3.3)]
        {
            let workload = open(spec).unwrap();
            let tasks = workload.jobs(3);
            assert_eq!(tasks, workload.jobs(3));
            let found: f64 = offered(&workload, &tasks).iter().sum();
            assert!((found / load - 1.0).abs() < 0.03, "{spec}: {found}");
            assert!(tasks.is_sorted_by(|a, b| a.arrival_ms <= b.arrival_ms));
            assert!(workload.has_more_jobs(3, tasks.len() - 1) && !workload.has_more_jobs(3, tasks.len()));
        }
        // What an episode needs is bounded by this number, so it counts what arrives in edge cases too.
        let workload = open("builtin,mix=work,edge=hog,seconds=100").unwrap();
        let tasks = workload.jobs(3).len() as f64;
        assert!((workload.work().jobs / tasks - 1.0).abs() < 0.03, "{tasks}");
        let workload = open("builtin,mix=work,load=1,seconds=100").unwrap();
        for found in offered(&workload, &workload.jobs(3)) {
            assert!((found / 0.2 - 1.0).abs() < 0.1, "{found}");
        }
    }

    #[test]
    fn sizes_are_as_the_models_have_them() {
        let tasks = open("builtin,seconds=20").unwrap().jobs(1);
        let of = |application: u32| -> Vec<u32> {
            tasks.iter().filter(|task| task.application == application).map(|task| task.size).collect()
        };
        assert!(of(0).iter().all(|size| (8..=60).contains(size)) && of(0).contains(&8) && of(0).contains(&60));
        assert!(of(2).iter().all(|size| *size == 1));
        let equal = open("builtin,spread=0,seconds=5").unwrap().jobs(1);
        assert!(equal.iter().filter(|task| task.application == 0).all(|task| task.size == 22));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (spec, expected) in [
            ("builtin,shapes=4/2", "ascending numbers with / between them"),
            ("builtin,shapes=4/8", "the last from 16 to 4096"),
            ("builtin,memory=10", "memory"),
            ("builtin,colour=1", "colour"),
            ("builtin,edge=none", "one of"),
            ("builtin,memory=60,shapes=64", "memory must be at least 64"),
        ] {
            let message = open(spec).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn models_of_a_file_are_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("models.json");
        let model = r#"{"name": "own", "law": {"measured": {"sizes": [4, 16], "batches": [1, 8], "ms": [[1, 2], [3, 9]]}}, "sizes": [4, 16], "most": 8}"#;
        let open = |models: &str, more: &str| {
            std::fs::write(&path, format!("{{\"models\": [{models}]}}")).unwrap();
            super::super::ServingWorkload::open(&format!("models:{}{more}", path.display()).parse().unwrap())
                .map_err(|e| e.to_string())
        };
        let workload = open(model, ",applications=2,seconds=1").unwrap();
        let names: Vec<&str> = workload.cluster().server.applications.iter().map(|app| &*app.name).collect();
        assert_eq!(names, ["own", "own-2"]);
        assert!(workload.cluster().server.applications.iter().all(|app| app.most == 8 && app.solo_ms(16) == 2.0));
        let tasks = workload.jobs(1);
        assert!(tasks.len() > 100 && tasks.iter().all(|task| (4..=16).contains(&task.size)), "{}", tasks.len());
        let found: f64 = offered(&workload, &tasks).iter().sum();
        assert!((found / 0.9 - 1.0).abs() < 0.1, "{found}");
        for (models, expected) in [
            ("", "`models` has 0 models"),
            (
                &*model.replace("[4, 16], \"most\"", "[16, 4], \"most\""),
                "model `own`: sizes must be two numbers in order",
            ),
            (&*model.replace("[3, 9]", "[3]"), "not a list of models"),
            (&*model.replace("\"most\": 8", "\"most\": 0"), "application 0: most must be in 1..=4096, got 0"),
        ] {
            let message = open(models, "").unwrap_err();
            assert!(message.contains(expected) && message.contains("models.json"), "{message}");
        }
    }
}
