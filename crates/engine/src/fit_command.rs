//! `distill-engine fit`: arguments in, a student file and text out.

use anyhow::{Context, Result, bail};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use sched_distill_core::{
    file::PendingFile,
    model::{ScoreCandidates, Student},
};
use sched_distill_engine::{
    ask::Engine,
    fit::{self, CHOSEN_FROM, LEARNERS},
    work::coded::{forget_coded_in, keep_coded_in},
};
use sched_distill_learn::{FitParams, Learner};
use sched_distill_pipeline::{Caller, FitPlan, Fitted, Lessons, SizeChoice, USUAL_SIZE, Watch};
use sched_distill_trace::{Trace, recorder::Progress};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Instant,
};
use tokio::runtime::Handle;

/// Fits a student to traces of any size.
///
/// Learners, sizes and terms are chosen on some of the choices, as `distill fit` chooses them; the tree is grown, and coefficients,
/// leaves and temperatures are fitted, on all. The student is the same to the last byte for any number of threads and machines. A fit
/// that was interrupted goes on where it was if the same command is given again.
///
/// Example: distill-engine fit runs/big/trace -o student.json
///
/// Example, on a cluster: distill-engine fit /shared/trace -o student.json --cluster df://node0:50050
#[derive(Args)]
pub(crate) struct FitArgs {
    /// Trace to learn from, or several with the same teacher.
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Trace to choose and measure on [default: the last fifth of a single TRACE].
    #[arg(long, value_name = "TRACE")]
    validation: Option<PathBuf>,
    /// Student file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace a student file with other content.
    #[arg(long)]
    force: bool,
    /// Models to fit in place of the choice among them: tree, logit, spline-logit, bounded-logit.
    #[arg(long = "learner", value_parser = learner(), value_delimiter = ',', value_name = "NAME", hide_possible_values = true)]
    learners: Vec<Learner>,
    /// Largest number of leaves per level, of terms for spline-logit [default: 64].
    #[arg(long, value_name = "N")]
    max_leaves: Option<usize>,
    /// Largest size over all levels, leaves and terms together [default: 32, unless --learner or --max-leaves says what is fitted].
    #[arg(long, value_name = "N")]
    max_size: Option<usize>,
    /// JSON file with all else that may be varied, as for `distill fit --params`.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The scheduler of a cluster, df://HOST:PORT [default: no cluster, this process].
    #[arg(long, value_name = "ADDRESS")]
    cluster: Option<String>,
    /// Tasks that every pass is cut into on a cluster, at most one for each part of the traces.
    #[arg(long, value_name = "N", default_value_t = 32, requires = "cluster")]
    tasks: usize,
    /// Threads, where there is no cluster [default: one for each core].
    #[arg(short = 'j', long, value_name = "N", conflicts_with = "cluster")]
    threads: Option<usize>,
    /// Folder for what is kept between passes; what the fit puts there is deleted at the end [default: FILE.work].
    ///
    /// A process of its own keeps the traces in bins there, some 25 bytes and one for each feature a row.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

/// Parses the name of a learner.
fn learner() -> impl TypedValueParser<Value = Learner> {
    let named = |name: String| LEARNERS.into_iter().find(|learner| learner.name() == name);
    PossibleValuesParser::new(LEARNERS.map(Learner::name)).try_map(move |name| named(name).ok_or("no such learner"))
}

impl FitArgs {
    fn plan(&self) -> Result<FitPlan> {
        let mut fields = serde_json::Map::new();
        if let Some(path) = &self.params {
            let text = fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
            fields = serde_json::from_slice(&text).with_context(|| not_parameters(path))?;
        }
        let [learners, leaves] = ["learners", "max_leaf_nodes"].map(|name| fields.contains_key(name));
        let params = serde_json::from_value(fields.into());
        let path = self.params.as_deref().unwrap_or(Path::new("the defaults"));
        let mut params: FitParams = params.with_context(|| not_parameters(path))?;
        params.max_leaf_nodes = self.max_leaves.unwrap_or(params.max_leaf_nodes);
        let named = !self.learners.is_empty();
        let sized = self.max_size.is_some() || !(named || learners || leaves || self.max_leaves.is_some());
        if named {
            params.learners.clone_from(&self.learners);
        } else if !learners {
            params.learners = if sized { CHOSEN_FROM.to_vec() } else { vec![Learner::Tree] };
        }
        if params.learners.iter().all(|learner| learner.name() != params.used) {
            params.used = params.learners.first().map_or_else(String::new, |learner| learner.name().to_owned());
        }
        let most = Some(self.max_size.unwrap_or(USUAL_SIZE));
        let size = sized.then(|| SizeChoice { most, by: None, gates: Vec::new(), ladder: false });
        Ok(FitPlan { params, size })
    }

    pub(crate) fn run(self, runtime: &Handle) -> Result<()> {
        let plan = self.plan()?;
        let open = |path: &PathBuf| Trace::open(path).map_err(anyhow::Error::from);
        let traces = self.traces.iter().map(open).collect::<Result<Vec<_>>>()?;
        let others: Vec<&Trace> = traces[1..].iter().collect();
        let lessons = Lessons::new(&traces[0], &others)?;
        let validation = self.validation.as_ref().map(open).transpose()?;
        self.check_output(lessons, &plan)?;
        let work = self.work.clone().unwrap_or_else(|| beside(&self.output));
        let coded = work.join("coded");
        let threads =
            self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
        let engine = match &self.cluster {
            Some(address) => Engine::cluster(address, self.tasks)?,
            None => {
                keep_coded_in(&coded)?;
                Engine::local(threads)
            }
        };
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
        let (watch, stop) = (Lines(Instant::now()), AtomicBool::new(false));
        let caller = Caller { watch: &watch, stop: &stop };
        let Fitted { student, fidelity, skipped, .. } =
            fit::fit((&engine, runtime), (lessons, validation.as_ref()), &plan, &work, caller)?;
        let written = PendingFile::create(&self.output).and_then(|mut file| {
            file.write_all(student.to_json().as_bytes())?;
            file.commit()
        });
        written.with_context(|| format!("{}: cannot be written", self.output.display()))?;
        forget_coded_in(&coded)?;
        fit::forget(&work)?;
        for level in &student.levels {
            for model in &level.models {
                println!(
                    "{:<8} {:<14} size {:>4}  temperature {:.3}",
                    level.level,
                    model.name,
                    model.model.size(),
                    model.temperature
                );
            }
        }
        for level in skipped {
            println!("{level:<8} no choice has two candidates; the student takes the first");
        }
        println!("\nagreement with the teacher on the validation choices");
        for row in &fidelity {
            println!(
                "{:<8} {:<14} {:<12} {:>5.1} % [{:.1}, {:.1}]",
                row.level,
                row.scorer,
                row.kind,
                100.0 * row.top1.value,
                100.0 * row.top1.low,
                100.0 * row.top1.high
            );
        }
        println!("\n{} (trace {})", self.output.display(), student.provenance.trace_hash);
        Ok(())
    }

    /// Known before the work begins: a student of another fit is not replaced.
    fn check_output(&self, lessons: Lessons<'_>, plan: &FitPlan) -> Result<()> {
        if self.output.is_dir() {
            bail!("{}: is a folder; name a file", self.output.display());
        }
        if self.force || !self.output.exists() {
            return Ok(());
        }
        let parameters = serde_json::to_value(fit::parameters(plan))?;
        let is_same =
            |there: Student| there.provenance.trace_hash == lessons.hash() && there.provenance.parameters == parameters;
        if !Student::load(&self.output).is_ok_and(is_same) {
            bail!("{}: holds something else; take another name, or --force to replace it", self.output.display());
        }
        Ok(())
    }
}

fn not_parameters(path: &Path) -> String {
    format!("{}: not parameters of a fit (docs/learner.md)", path.display())
}

/// The folder beside a file for what is kept between passes.
fn beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".work");
    name.into()
}

/// Says on stderr what goes on, with the seconds since the beginning.
struct Lines(Instant);

impl Progress for Lines {
    fn episode(&self, _decisions: u64) {}
}

impl Watch for Lines {
    fn note(&self, line: &str) {
        eprintln!("{:>7.1} s  {line}", self.0.elapsed().as_secs_f64());
    }
}
